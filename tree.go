package algospec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
)

// A tree is the directory that the platform lays out for a host, /opt/ml (container contract, 1.2).
type tree string

func (o Options) tree() tree {
	switch {
	case o.BaseDir != "":
		return tree(o.BaseDir)
	case o.getenv("SAGEMAKER_BASE_DIR") != "":
		return tree(o.getenv("SAGEMAKER_BASE_DIR"))
	}
	return "/opt/ml"
}

func (o Options) getenv(key string) string {
	if o.Getenv == nil {
		return os.Getenv(key)
	}
	return o.Getenv(key)
}

func (o Options) stdout() io.Writer {
	if o.Stdout == nil {
		return os.Stdout
	}
	return o.Stdout
}

func (t tree) path(elements ...string) string {
	return filepath.Join(append([]string{string(t)}, elements...)...)
}

func (t tree) failure() string { return t.path("output", "failure") }

// job reads the configuration.
func (t tree) job(o Options) (*Job, error) {
	job := &Job{
		Name:   o.getenv("TRAINING_JOB_NAME"),
		Model:  Dir(t.path("model")),
		Output: Dir(t.path("output", "data")),
		Env:    o.getenv,
		Stdout: o.stdout(),
	}
	var (
		parameters hyperparams.Map
		channels   map[string]channel.Config
		resources  cluster.Config
	)
	err := errors.Join(
		t.read("hyperparameters.json", &parameters),
		t.read("inputdataconfig.json", &channels),
		t.read("resourceconfig.json", &resources),
	)
	if err != nil {
		return nil, err
	}
	job.HyperParameters = parameters
	job.Host = resources.CurrentHost
	if job.Cluster, err = o.cluster(resources); err != nil {
		return nil, err
	}
	if job.CheckpointDir, err = t.checkpoints(); err != nil {
		return nil, err
	}
	job.Channels, err = t.channels(channels)
	return job, err
}

// cluster returns this host's view of the hosts. The local platform names the addresses of hosts that
// share this machine in ALGOSPEC_HOSTS, and counts a job's attempts in ALGOSPEC_ATTEMPT. Who keeps strangers
// out sets ALGOSPEC_SECRET, or files of certificates, or both.
func (o Options) cluster(resources cluster.Config) (cluster.Cluster, error) {
	addresses, err := cluster.ParseAddresses(o.getenv("ALGOSPEC_HOSTS"))
	if err != nil {
		return cluster.Cluster{}, err
	}
	certificates, err := cluster.LoadTLS(o.getenv("ALGOSPEC_TLS_CERT"), o.getenv("ALGOSPEC_TLS_KEY"), o.getenv("ALGOSPEC_TLS_CA"), o.getenv("ALGOSPEC_TLS_NAME"))
	if err != nil {
		return cluster.Cluster{}, err
	}
	return cluster.New(resources, cluster.Options{
		Secret:    o.getenv("ALGOSPEC_SECRET"),
		TLS:       certificates,
		Job:       cmp.Or(o.getenv("TRAINING_JOB_ARN"), o.getenv("TRAINING_JOB_NAME")),
		Attempt:   o.getenv("ALGOSPEC_ATTEMPT"),
		Addresses: addresses,
		Logger:    slog.New(slog.NewTextHandler(o.stdout(), nil)),
	})
}

// read decodes a configuration file. One that is missing or empty leaves v as it is.
func (t tree) read(name string, v any) error {
	path := t.path("input", "config", name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if err == nil {
		if err = json.Unmarshal(text, v); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return err
}

// channels gives each channel the Source of its input mode.
func (t tree) channels(configs map[string]channel.Config) (map[string]*channel.Channel, error) {
	channels := make(map[string]*channel.Channel, len(configs))
	for name, config := range configs {
		if !channel.ValidName(name) {
			return nil, fmt.Errorf("inputdataconfig.json: bad channel name %.70q", name)
		}
		path := t.path("input", "data", name)
		c := &channel.Channel{Name: name, Config: config}
		switch mode := config.TrainingInputMode; {
		case config.Pipe():
			c.Source = channel.FIFO{Path: path}
		case strings.EqualFold(mode, "File"), strings.EqualFold(mode, "FastFile"):
			c.Source = channel.Files{Dir: path, Lines: config.Lines()}
		default:
			return nil, fmt.Errorf("inputdataconfig.json: channel %s: TrainingInputMode %q is none of File, FastFile, Pipe", name, mode)
		}
		channels[name] = c
	}
	return channels, nil
}
