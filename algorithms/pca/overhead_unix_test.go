//go:build unix

package pca

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// BenchmarkSnapshots sums rows of 3000 features, whose scatter matrix takes 72 MB, without snapshots and with
// one every 10 s, in turn, so that both meet the same machine. It reports what they cost of the throughput by the
// clock and by the processor's time, which knows nothing of other processes, and how long the training waited.
func BenchmarkSnapshots(b *testing.B) {
	const d, batches, passes = 3000, 150, 12
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	row := make([]float32, d)
	for i := range 128 * batches {
		for j := range row {
			row[j] = float32(i*j%1009) + float32(j)
		}
		require.NoError(b, w.WriteRow(row))
	}
	require.NoError(b, w.Flush())
	sum := func(dir string) (wall, cpu, waited time.Duration) {
		train := &channel.Channel{Name: "train", Source: channel.Memory(data.Bytes())}
		job := &algospec.Job{CheckpointDir: algospec.Dir(dir)}
		p := algorithms.Batching{FeatureDim: d, MiniBatchSize: 128}
		var stats scatter
		snapshots, err := algorithms.Resume(b.Context(), job, &stats, algorithms.SnapshotOptions{Alone: true, Every: 10 * time.Second})
		require.NoError(b, err)
		began, before := time.Now(), processorTime(b)
		for range passes {
			for batch, err := range algorithms.Batches(b.Context(), train, p) {
				require.NoError(b, err)
				require.NoError(b, stats.observe(b.Context(), batch))
				offered := time.Now()
				require.NoError(b, snapshots.Offer(b.Context(), batch.End()))
				waited += time.Since(offered)
			}
		}
		wall = time.Since(began)
		require.NoError(b, snapshots.Close(b.Context()))
		return wall, processorTime(b) - before, waited
	}
	var wall, cpu [2]time.Duration
	var waited time.Duration
	for b.Loop() {
		for i, dir := range []string{"", b.TempDir()} {
			took, used, w := sum(dir)
			wall[i], cpu[i], waited = wall[i]+took, cpu[i]+used, waited+w
		}
	}
	b.ReportMetric(100*(float64(wall[1])/float64(wall[0])-1), "%slower")
	b.ReportMetric(100*(float64(cpu[1])/float64(cpu[0])-1), "%cpu")
	b.ReportMetric(100*float64(waited)/float64(wall[1]), "%waiting")
	b.ReportMetric(wall[0].Seconds()/float64(b.N), "s-without")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
