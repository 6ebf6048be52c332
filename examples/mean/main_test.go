package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/internal/fleet"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/recordio"
)

// TestMain is also the container, for the tests that start it as a process.
func TestMain(m *testing.M) {
	if _, ok := fleet.Member(); ok {
		main()
	}
	leaks.Main(m)
}

// How an author tests an algorithm: data in memory, a temporary directory, no container.
func TestMeanOfThreeRows(t *testing.T) {
	job := &algospec.Job{
		Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(encode(t, rows))}},
		Model:    algospec.Dir(t.TempDir()),
	}
	require.NoError(t, train(t.Context(), job, algorithms.Batching{FeatureDim: 2, MiniBatchSize: 2}))
	requireMean(t, string(job.Model))
}

var rows = [][]float32{{1, 10}, {2, 20}, {6, 60}}

func encode(t *testing.T, rows [][]float32) []byte {
	t.Helper()
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	for _, row := range rows {
		require.NoError(t, w.WriteRow(row))
	}
	require.NoError(t, w.Flush())
	return data.Bytes()
}

func requireMean(t *testing.T, dir string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "mean.json"))
	require.NoError(t, err)
	require.JSONEq(t, "[3, 30]", string(got))
}

// The same function on three hosts, one of which got no data.
func TestMeanOnThreeHosts(t *testing.T) {
	hosts := cluster.Loopback(3)
	var group errgroup.Group
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for rank, shard := range [][][]float32{rows[:2], nil, rows[2:]} {
		job := &algospec.Job{
			Cluster:  hosts[rank],
			Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(encode(t, shard))}},
			Model:    algospec.Dir(dirs[rank]),
		}
		group.Go(func() error { return train(t.Context(), job, algorithms.Batching{FeatureDim: 2, MiniBatchSize: 2}) })
	}
	require.NoError(t, group.Wait())
	for _, dir := range dirs {
		requireMean(t, dir)
	}
}

// The container itself, as three processes over TCP.
func TestMeanInThreeProcesses(t *testing.T) {
	hosts := fleet.Start(t, fleet.Job{
		HyperParameters: map[string]string{"feature_dim": "2", "mini_batch_size": "2"},
		Shards:          []map[string][]byte{{"train": nil}, {"train": encode(t, rows[:1])}, {"train": encode(t, rows[1:])}},
	})
	for _, h := range hosts {
		require.Zero(t, h.Wait(), "%s: %s", h.Failure(t), h.Log())
		requireMean(t, filepath.Join(h.Base, "model"))
	}
}
