package pca_test

import (
	"fmt"
	"testing"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
)

// BenchmarkTrain trains on RecordIO-protobuf in memory: 20 MB of rows.
func BenchmarkTrain(b *testing.B) {
	for _, d := range []int{50, 784} {
		b.Run(fmt.Sprintf("features=%d", d), func(b *testing.B) {
			data := random(20<<20/(4*d), d, 1).encode(b)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			p := params(d, 10)
			p.MiniBatchSize = 1000
			for b.Loop() {
				job := &algospec.Job{
					Model:    algospec.Dir(b.TempDir()),
					Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(data)}},
				}
				if err := pca.Train(b.Context(), job, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
