package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// How an author tests an algorithm: data in memory, a temporary directory, no container.
func TestMeanOfThreeRows(t *testing.T) {
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	for _, row := range [][]float32{{1, 10}, {2, 20}, {6, 60}} {
		require.NoError(t, w.WriteRow(row))
	}
	require.NoError(t, w.Flush())
	job := &algospec.Job{
		Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(data.Bytes())}},
		Model:    algospec.Dir(t.TempDir()),
	}
	require.NoError(t, train(t.Context(), job, algorithms.Batching{FeatureDim: 2, MiniBatchSize: 2}))
	got, err := os.ReadFile(filepath.Join(string(job.Model), "mean.json"))
	require.NoError(t, err)
	require.JSONEq(t, "[3, 30]", string(got))
}
