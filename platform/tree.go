package platform

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
)

// host is the name of the only host.
const host = "algo-1"

// A tree is a host's directory, /opt/ml to its container (container contract, 1.2).
type tree struct{ root string }

// layOut makes the tree and writes the configuration.
func (j *Job) layOut() (*tree, error) {
	root, err := os.MkdirTemp(j.Dir, "algospec-"+j.Name+"-")
	if err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil { // the algorithm's working directory is another one
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	t := &tree{root: root}
	if err := t.fill(j); err != nil {
		return nil, errors.Join(err, t.remove())
	}
	return t, nil
}

func (t *tree) fill(j *Job) error {
	for _, dir := range []string{"input/config", "input/data", "model", "output/data", "output/metrics/sagemaker"} {
		if err := os.MkdirAll(t.path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(t.workshop(), 0o755); err != nil {
		return err
	}
	parameters := j.HyperParameters
	if parameters == nil {
		parameters = hyperparams.Map{}
	}
	channels := map[string]channel.Config{}
	for _, c := range j.Channels {
		channels[c.Name] = c.config()
	}
	const group, instance = "homogeneousCluster", "local"
	return errors.Join(
		t.write("hyperparameters.json", parameters),
		t.write("inputdataconfig.json", channels),
		t.write("resourceconfig.json", cluster.Config{
			CurrentHost: host, Hosts: []string{host}, NetworkInterfaceName: "lo",
			CurrentInstanceType: instance, CurrentGroupName: group,
			InstanceGroups: []cluster.InstanceGroup{{Name: group, InstanceType: instance, Hosts: []string{host}}},
		}),
	)
}

func (t *tree) write(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(t.path("input/config", name), text, 0o644)
}

func (t *tree) path(elements ...string) string {
	return filepath.Join(append([]string{t.root, host}, elements...)...)
}

// workshop is where pipes are made ready, out of the algorithm's sight and on the same file system.
func (t *tree) workshop() string { return filepath.Join(t.root, "pipes") }

func (t *tree) channel(name string) string { return t.path("input/data", name) }
func (t *tree) model() string              { return t.path("model") }
func (t *tree) output() string             { return t.path("output/data") }

func (t *tree) remove() error { return os.RemoveAll(t.root) }
