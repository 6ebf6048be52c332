//go:build unix

package channel_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/fifotest"
	"github.com/algospec/algospec/internal/pipesize"
)

const (
	benchBytes = 64 << 20  // a pass
	benchChunk = 256 << 10 // a call
)

// BenchmarkMemcpy and BenchmarkBareFIFO are the yardsticks of the others.
func BenchmarkMemcpy(b *testing.B) {
	src, dst := make([]byte, benchBytes), make([]byte, benchBytes)
	b.SetBytes(benchBytes)
	b.ReportAllocs()
	for b.Loop() {
		copy(dst, src)
	}
}

// BenchmarkBareFIFO is io.Copy through a pipe, both ends opened blocking, in calls of 256 KiB.
func BenchmarkBareFIFO(b *testing.B) {
	for _, size := range []string{"64KiB", "256KiB"} {
		b.Run("pipe="+size, func(b *testing.B) {
			benchFIFO(b, func(path string) (io.ReadCloser, error) {
				f, err := os.Open(path + "_0")
				if err == nil && size == "256KiB" {
					pipesize.Enlarge(f)
				}
				return f, err
			})
		})
	}
}

// BenchmarkFIFO reads the same through channel.FIFO.
func BenchmarkFIFO(b *testing.B) {
	benchFIFO(b, func(path string) (io.ReadCloser, error) {
		return channel.FIFO{Path: path}.Open(b.Context(), 0)
	})
}

func benchFIFO(b *testing.B, open func(path string) (io.ReadCloser, error)) {
	dir := b.TempDir()
	chunk, buf := make([]byte, benchChunk), make([]byte, benchChunk)
	b.SetBytes(benchBytes)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		path := filepath.Join(dir, fmt.Sprint("train", i))
		fifotest.Serve(b, path+"_0", chunk, benchBytes/benchChunk)
		r, err := open(path)
		if err != nil {
			b.Fatal(err)
		}
		// Hide WriteTo and ReadFrom, so that all variants move bytes the same way.
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buf)
		if n != benchBytes || err != nil {
			b.Fatal(n, err)
		}
		r.Close()
	}
}
