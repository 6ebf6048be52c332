package s3stream

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// BenchmarkSource streams an epoch from a server in the same process, on the
// same processors. Compare with BenchmarkGet of package s3test.
func BenchmarkSource(b *testing.B) {
	for _, data := range []struct {
		name  string
		count int
		size  int64
	}{
		{"one of 256 MiB", 1, 256 << 20},
		{"16 of 16 MiB", 16, 16 << 20},
		{"256 of 1 MiB", 256, 1 << 20},
		{"2000 of 16 KiB", 2000, 16 << 10},
	} {
		server := s3test.New()
		for i := range data.count {
			body := io.LimitReader(zeros{}, data.size)
			require.NoError(b, server.Put("data", fmt.Sprintf("part-%06d", i), body))
		}
		objects, err := List(b.Context(), server.Client(), "s3://data/")
		require.NoError(b, err)
		for _, opts := range []Options{{}, {Concurrency: 4}, {PartSize: 1 << 20}, {PartSize: 8 << 20}} {
			name := fmt.Sprintf("%s/parts %d MiB, %d at a time", data.name, opts.withDefaults().PartSize>>20, opts.withDefaults().Concurrency)
			b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
				source := NewSource(server.Client(), objects, opts)
				b.SetBytes(int64(data.count) * data.size)
				b.ReportAllocs()
				for b.Loop() {
					epoch, err := source.Open(b.Context(), 0)
					require.NoError(b, err)
					n, err := io.Copy(writerFunc(func(p []byte) (int, error) { return len(p), nil }), epoch)
					require.NoError(b, err)
					require.EqualValues(b, int64(data.count)*data.size, n)
					require.NoError(b, epoch.Close())
				}
			})
		}
		require.NoError(b, server.Close())
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
