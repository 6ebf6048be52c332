package pca_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
)

// A breaking Source breaks at a byte of the stream.
type breaking struct {
	channel.Source
	at int64
}

var errBroken = errors.New("the line is broken")

func (b breaking) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	src, err := b.Source.Open(ctx, epoch)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(src, b.at), brokenReader{}), src}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

// learn runs a training in this process that saves snapshots without a pause, and returns the model's bytes.
func learn(t *testing.T, dir string, src channel.Source, change func(*algospec.Job, *pca.Params)) (model []byte, log string, err error) {
	t.Helper()
	var out bytes.Buffer
	job := &algospec.Job{
		Model: algospec.Dir(t.TempDir()), CheckpointDir: algospec.Dir(dir), Stdout: &out,
		Channels:        map[string]*channel.Channel{"train": {Name: "train", Source: src}},
		HyperParameters: hyperparams.Map{"num_components": "4"},
		Env: func(key string) string {
			return map[string]string{"ALGOSPEC_CHECKPOINT_EVERY": "1ns"}[key]
		},
	}
	p := params(20, 4)
	p.MiniBatchSize = 37
	if change != nil {
		change(job, &p)
	}
	if err := pca.Train(t.Context(), job, p); err != nil {
		return nil, out.String(), err
	}
	model, err = os.ReadFile(filepath.Join(string(job.Model), pca.ModelFile))
	require.NoError(t, err)
	return model, out.String(), nil
}

// sources are the rows through every kind of channel.
func sources(t *testing.T, rows table) map[string]channel.Source {
	t.Helper()
	dir := t.TempDir()
	for i, part := range []table{rows[:len(rows)/3], rows[len(rows)/3:]} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(rune('a'+i))), part.encode(t), 0o644))
	}
	return map[string]channel.Source{
		"memory":               channel.Memory(rows.encode(t)),
		"files, which seek":    channel.Files{Dir: dir},
		"a stream, read again": channel.ReadAhead(channel.Memory(rows.encode(t)), 0),
	}
}

func TestATrainingThatBreaksAnywhereGoesOnToTheSameModel(t *testing.T) {
	rows := random(2000, 20, 41)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	want, _, err := learn(t, "", channel.Memory(rows.encode(t)), nil)
	require.NoError(t, err)
	size := int64(len(rows.encode(t)))
	for name, src := range sources(t, rows) {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				dir, wentOn := t.TempDir(), 0
				for at := r.Int64N(size); at < size; at += r.Int64N(size) { // breaks again further on
					_, log, err := learn(t, dir, breaking{src, at}, nil)
					require.ErrorIs(t, err, errBroken)
					if goingOn.MatchString(log) {
						wentOn++
					}
				}
				model, _, err := learn(t, dir, src, nil)
				require.NoError(t, err)
				require.Equal(t, want, model)
				// And once more from the last snapshot, which may be at the end.
				model, log, err := learn(t, dir, src, nil)
				require.NoError(t, err)
				require.Equal(t, want, model)
				require.Regexp(t, goingOn, log)
				require.Contains(t, log, `"Total Records Seen": {"sum": 2000,`)
			}
		})
	}
}

// half returns a directory with snapshots of the first part of the rows.
func half(t *testing.T, rows table) string {
	t.Helper()
	dir := t.TempDir()
	data := rows.encode(t)
	for _, at := range []int{len(data) / 3, len(data) / 2} {
		_, _, err := learn(t, dir, breaking{channel.Memory(data), int64(at)}, nil)
		require.ErrorIs(t, err, errBroken)
	}
	require.Greater(t, len(snapshots(t, dir)), 1)
	return dir
}

func snapshots(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.ckpt"))
	require.NoError(t, err)
	return files
}

func TestADamagedSnapshotIsPassedOverForTheOneBefore(t *testing.T) {
	rows := random(2000, 20, 42)
	want, _, err := learn(t, "", channel.Memory(rows.encode(t)), nil)
	require.NoError(t, err)
	dir := half(t, rows)
	files := snapshots(t, dir)
	newest := files[len(files)-1]
	content, err := os.ReadFile(newest)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(newest, content, 0o644))
	model, log, err := learn(t, dir, channel.Memory(rows.encode(t)), nil)
	require.NoError(t, err)
	require.Equal(t, want, model)
	require.Contains(t, log, "checksum mismatch")
	require.Regexp(t, goingOn, log)
}

func TestASnapshotThatDoesNotFitIsOneClearError(t *testing.T) {
	rows := random(2000, 20, 43)
	for _, c := range []struct {
		name   string
		rows   table
		change func(*algospec.Job, *pca.Params)
		want   string
		client bool
	}{
		{"other hyperparameters", rows, func(job *algospec.Job, _ *pca.Params) {
			job.HyperParameters = hyperparams.Map{"num_components": "5"}
		}, `saved with other hyperparameters: num_components was "4", now "5"`, true},
		{"more hosts", rows, func(job *algospec.Job, _ *pca.Params) { job.Cluster = hostAlone(t) },
			"saved by the host of rank 0 of 1, which is now rank 0 of 2", true},
		{"data of other features", random(2000, 19, 44), func(_ *algospec.Job, p *pca.Params) { p.FeatureDim = 19 },
			"", true},
		{"less data", rows[:20], nil, "going on at record ", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := learn(t, half(t, rows), channel.Memory(c.rows.encode(t)), c.change)
			require.ErrorContains(t, err, c.want)
			t.Log(err)
			require.Equal(t, c.client, algospec.IsClientError(err))
		})
	}
}

// hostAlone returns the leader of two hosts, which are connected.
func hostAlone(t *testing.T) cluster.Cluster {
	t.Helper()
	hosts := cluster.Loopback(2)
	t.Cleanup(func() { hosts[0].Close(); hosts[1].Close() })
	go hosts[1].Connect(t.Context())
	return hosts[0]
}

func TestOfTwoJobsInOneDirectoryTheSecondFails(t *testing.T) {
	rows := random(2000, 20, 45)
	dir := half(t, rows)
	first := checkpoint.NewStore(dir, checkpoint.Options{HyperParameters: hyperparams.Map{"num_components": "4"}})
	defer first.Close()
	var state bytes.Buffer
	snapshot, err := first.Restore(t.Context(), &state)
	require.NoError(t, err)
	require.NoError(t, first.Save(t.Context(), snapshot, &state))
	_, _, err = learn(t, dir, channel.Memory(rows.encode(t)), nil)
	require.ErrorIs(t, err, checkpoint.ErrLocked)
	require.ErrorContains(t, err, "algo-1: another process saves snapshots of this host here")
}

func TestABadPauseBetweenSnapshotsIsOneClearError(t *testing.T) {
	_, _, err := learn(t, t.TempDir(), channel.Memory(nil), func(job *algospec.Job, _ *pca.Params) {
		job.Env = func(string) string { return "10" }
	})
	require.EqualError(t, err, `ALGOSPEC_CHECKPOINT_EVERY: "10" is no duration such as 10s`)
}

// Randomized mode goes on bit for bit, too, with rows that wait for their place in the sketch.
func TestASketchThatBreaksAnywhereGoesOnToTheSameModel(t *testing.T) {
	rows := random(600, 20, 46)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	data := rows.encode(t)
	for _, dense := range []bool{true, false} {
		randomized := func(_ *algospec.Job, p *pca.Params) {
			p.AlgorithmMode, p.NumComponents, p.ExtraComponents, p.ForceDense = "randomized", 1, 2, dense // 3 directions of 20 features
		}
		want, _, err := learn(t, "", channel.Memory(data), randomized)
		require.NoError(t, err)
		for range 5 {
			dir := t.TempDir()
			for at := r.Int64N(int64(len(data))); at < int64(len(data)); at += r.Int64N(int64(len(data))) {
				_, _, err := learn(t, dir, breaking{channel.Memory(data), at}, randomized)
				require.ErrorIs(t, err, errBroken)
			}
			model, _, err := learn(t, dir, channel.Memory(data), randomized)
			require.NoError(t, err)
			require.Equal(t, want, model)
		}
	}
}
