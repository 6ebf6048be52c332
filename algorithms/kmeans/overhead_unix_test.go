//go:build unix

package kmeans_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// BenchmarkSnapshots trains 4000 centers of 3125 features, a state of 100 MB, without snapshots and with one every 10 s, in turn, so that
// both meet the same machine, and each goes first as often as the other in an even number of turns. It reports what
// they cost of the throughput by the clock and by the processor's time, which knows less of other processes.
func BenchmarkSnapshots(b *testing.B) {
	const d, k, epochs = 3125, 4000, 44
	rows := make(table, k)
	for i := range rows {
		rows[i] = make([]float32, d)
		for j := range rows[i] {
			rows[i][j] = float32(i*j%1009) + float32(j)
		}
	}
	data := channel.Memory(rows.encode(b))
	p := params(b, d, k, hyperparams.Map{"extra_center_factor": "1", "epochs": "44", "_data_msd": "false"})
	require.Equal(b, epochs, p.Epochs)
	learn := func(dir string) (wall, cpu time.Duration) {
		job := &algospec.Job{
			Model: algospec.Dir(b.TempDir()), CheckpointDir: algospec.Dir(dir), Env: func(string) string { return "10s" },
			Channels: map[string]*channel.Channel{"train": {Name: "train", Source: data}},
		}
		began, before := time.Now(), processorTime(b)
		require.NoError(b, kmeans.Train(b.Context(), job, p))
		return time.Since(began), processorTime(b) - before
	}
	var wall, cpu [2]time.Duration
	turn := 0
	for b.Loop() {
		for i := range 2 {
			with := (i + turn) % 2
			took, used := learn([]string{"", b.TempDir()}[with])
			wall[with], cpu[with] = wall[with]+took, cpu[with]+used
		}
		turn++
	}
	b.ReportMetric(100*(float64(wall[1])/float64(wall[0])-1), "%slower")
	b.ReportMetric(100*(float64(cpu[1])/float64(cpu[0])-1), "%cpu")
	b.ReportMetric(wall[0].Seconds()/float64(b.N), "s-without")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
