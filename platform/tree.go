package platform

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// treePrefix begins the name of a tree, before the job's.
const treePrefix = "algospec-"

// A tree holds the hosts' directories of one attempt, and what is theirs out of their sight.
type tree struct{ root string }

// newTree makes an empty tree.
func newTree(j *Job) (tree, error) {
	root, err := os.MkdirTemp(j.Dir, treePrefix+j.Name+"-")
	if err != nil {
		return tree{}, err
	}
	if root, err = filepath.Abs(root); err != nil { // the algorithm's working directory is another one
		return tree{}, errors.Join(err, os.RemoveAll(root))
	}
	return tree{root}, nil
}

func (t tree) host(name string) hostTree { return hostTree(filepath.Join(t.root, name)) }

// workshop is where a host's pipes are made ready, on the same file system.
func (t tree) workshop(host string) string { return filepath.Join(t.root, "pipes", host) }

// names is the hosts file of hosts that are processes.
func (t tree) names() string { return filepath.Join(t.root, "hosts") }

// containers is a file that says that there have been containers.
func (t tree) containers() string { return filepath.Join(t.root, "containers") }

// downloads is where the objects of File-mode channels gather.
func (t tree) downloads() string { return filepath.Join(t.root, "downloads") }

func (t tree) remove() error { return os.RemoveAll(t.root) }

// A hostTree is a host's directory, /opt/ml to its container (container contract, 1.2).
type hostTree string

// base is where containers see their tree.
const base = "/opt/ml"

func (t hostTree) path(elements ...string) string {
	return filepath.Join(append([]string{string(t)}, elements...)...)
}

func (t hostTree) channel(name string) string { return t.path("input/data", name) }
func (t hostTree) model() string              { return t.path("model") }
func (t hostTree) output() string             { return t.path("output/data") }

// of returns where a path of the container is: below the tree, in a directory of its own where it is
// outside the tree to the container.
func (t hostTree) of(path string) string {
	if rest, ok := strings.CutPrefix(filepath.Clean(path), base+"/"); ok {
		return t.path(rest)
	}
	return t.path("outside", path)
}

// layOut makes the host's directories and writes its configuration.
func (h *host) layOut() error {
	for _, dir := range []string{
		"input/config", "input/data", "model", "output/data", "output/metrics/sagemaker", "output/profiler", "output/tensorboard",
	} {
		if err := os.MkdirAll(h.tree.path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(h.run.tree.workshop(h.name), 0o755); err != nil {
		return err
	}
	parameters := h.run.job.HyperParameters
	if parameters == nil {
		parameters = hyperparams.Map{}
	}
	channels := map[string]channel.Config{}
	for _, c := range h.run.job.Channels {
		if c.goesTo(h.group) {
			channels[c.Name] = c.config()
		}
	}
	err := errors.Join(
		h.configure("hyperparameters.json", parameters),
		h.configure("inputdataconfig.json", channels),
		h.configure("resourceconfig.json", resources(h.run.members, h.member, h.network())),
	)
	if h.run.job.Checkpoints.S3URI == "" {
		return err
	}
	return errors.Join(err, os.MkdirAll(h.checkpoints(), 0o755),
		h.configure("checkpointconfig.json", map[string]string{"LocalPath": h.seenCheckpoints()}))
}

func (h *host) configure(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(h.tree.path("input/config", name), text, 0o644)
}

// checkpoints is the host's checkpoint directory.
func (h *host) checkpoints() string {
	local := h.run.job.Checkpoints.LocalPath
	if local == "" {
		local = base + "/checkpoints"
	}
	return h.tree.of(local)
}
