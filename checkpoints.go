package algospec

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/algospec/algospec/checkpoint"
)

// Checkpoints returns the store of the job's snapshots, all hosts' of one step together, or nil where
// CheckpointDir is "". Host, Cluster, HyperParameters and Logger of opts are set where they are not.
// Run closes the store.
func (j *Job) Checkpoints(opts checkpoint.Options) *checkpoint.Store {
	if opts.Cluster == nil {
		opts.Cluster = &j.Cluster
	}
	return j.store(opts)
}

// HostCheckpoints is Checkpoints for a state that has nothing to do with that of the other hosts, such
// as sums over this host's own data until they are put together: each host saves and restores by itself.
func (j *Job) HostCheckpoints(opts checkpoint.Options) *checkpoint.Store {
	opts.Cluster = nil
	return j.store(opts)
}

func (j *Job) store(opts checkpoint.Options) *checkpoint.Store {
	if j.CheckpointDir == "" {
		return nil
	}
	if opts.Host == "" {
		opts.Host = j.Host
	}
	if opts.HyperParameters == nil {
		opts.HyperParameters = j.HyperParameters
	}
	if opts.Logger == nil && j.Stdout != nil {
		opts.Logger = slog.New(slog.NewTextHandler(j.Stdout, nil))
	}
	store := checkpoint.NewStore(string(j.CheckpointDir), opts)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stores = append(j.stores, store)
	return store
}

// checkpoints returns where the platform keeps checkpoints: where checkpointconfig.json says, or else in
// /opt/ml/checkpoints if that is there (container contract, 1.4 and 1.8).
func (t tree) checkpoints() (Dir, error) {
	var config struct{ LocalPath string }
	if err := t.read("checkpointconfig.json", &config); err != nil {
		return "", err
	}
	if config.LocalPath != "" {
		return Dir(filepath.Clean(config.LocalPath)), nil
	}
	if info, err := os.Stat(t.path("checkpoints")); err != nil || !info.IsDir() {
		return "", nil
	}
	return Dir(t.path("checkpoints")), nil
}
