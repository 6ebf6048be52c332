package pca

import (
	"bytes"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/recordio"
)

type totals struct {
	n     float64
	mean  []float64
	outer *mat.SymDense
}

// reduced returns what each host has after the reduction of the shards.
func reduced(t *testing.T, shards [][][]float32) []totals {
	t.Helper()
	hosts := cluster.Loopback(len(shards))
	results := make([]totals, len(shards))
	var wait sync.WaitGroup
	for rank, rows := range shards {
		var data bytes.Buffer
		w := recordio.NewWriter(&data)
		for _, row := range rows {
			require.NoError(t, w.WriteRow(row))
		}
		require.NoError(t, w.Flush())
		p := Params{Batching: algorithms.Batching{FeatureDim: 6, MiniBatchSize: 64}, NumComponents: 2, Epochs: 1}
		train := &channel.Channel{Name: "train", Source: channel.Memory(data.Bytes())}
		job := &algospec.Job{Channels: map[string]*channel.Channel{"train": train}}
		run := training{job: job, p: p, report: algorithms.NewReport(job, "PCA", hyperparams.Map{}), learned: NewLearner(p)}
		require.NoError(t, run.observe(t.Context(), t.Context()))
		wait.Go(func() {
			if err := run.learned.reduce(t.Context(), &hosts[rank]); err != nil {
				t.Error(err)
				return
			}
			s := run.learned.stat.(*scatter)
			results[rank] = totals{s.n, s.pilot, s.outer}
		})
	}
	wait.Wait()
	return results
}

// Before the model is rounded to float32: each element of the scatter agrees to 1e-12 of the product of
// its features' deviations, the mean to 1e-12, and all hosts have the same bits.
func TestTheStatisticOfSeveralHostsIsThatOfOneTo1e12(t *testing.T) {
	for _, shift := range []float64{0, 1000, 1 << 20} {
		r := rand.New(rand.NewPCG(1, 2))
		var rows [][]float32
		for range 500 {
			row := make([]float32, 6)
			for j := range row {
				row[j] = float32(math.Round(r.NormFloat64()*100*float64(j+1)) + shift)
			}
			rows = append(rows, row)
		}
		one := reduced(t, [][][]float32{rows})[0]
		for _, shards := range [][][][]float32{{rows[:100], rows[100:300], rows[300:]}, {nil, rows[:1], rows[1:]}, {rows, nil, nil}} {
			hosts := reduced(t, shards)
			require.Equal(t, hosts[0], hosts[1])
			require.Equal(t, hosts[0], hosts[2])
			got := hosts[0]
			require.Equal(t, one.n, got.n)
			for i := range 6 {
				require.InDelta(t, one.mean[i], got.mean[i], 1e-12*max(1, math.Abs(one.mean[i])))
				for j := range 6 {
					scale := math.Sqrt(one.outer.At(i, i) * one.outer.At(j, j))
					require.InDelta(t, one.outer.At(i, j), got.outer.At(i, j), 1e-12*scale, "element %d, %d at shift %v", i, j, shift)
				}
			}
		}
	}
}
