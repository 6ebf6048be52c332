//go:build unix

package algorithms_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/fifotest"
	"github.com/algospec/algospec/internal/pipesize"
	"github.com/algospec/algospec/recordio"
)

// The benchmarks below read the same 64 MB of rows through a named pipe, which a goroutine fills:
// with nothing but read(2), frame by frame, and as batches.

func BenchmarkBareFIFO(b *testing.B) {
	buf := make([]byte, 256<<10)
	benchFIFO(b, func(path string) error {
		r, err := os.Open(path + "_0")
		if err != nil {
			return err
		}
		defer r.Close()
		pipesize.Enlarge(r)
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buf)
		return err
	}, 784)
}

func BenchmarkFramesFromFIFO(b *testing.B) {
	benchFIFO(b, func(path string) error {
		r, err := channel.FIFO{Path: path}.Open(b.Context(), 0)
		if err != nil {
			return err
		}
		defer r.Close()
		for _, err := range recordio.NewReader(r).All() {
			if err != nil {
				return err
			}
		}
		return nil
	}, 784)
}

func BenchmarkBatchesFromFIFO(b *testing.B) {
	for _, columns := range []int{50, 784} {
		b.Run(fmt.Sprintf("features=%d", columns), func(b *testing.B) {
			benchFIFO(b, func(path string) error {
				c := &channel.Channel{Name: "train", Source: channel.FIFO{Path: path}}
				for _, err := range algorithms.Batches(b.Context(), c, batching(columns, 1000)) {
					if err != nil {
						return err
					}
				}
				return nil
			}, columns)
		})
	}
}

func benchFIFO(b *testing.B, read func(path string) error, columns int) {
	data := stream(b, 64_000_000/(4*columns), columns, true)
	dir := b.TempDir()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		path := filepath.Join(dir, fmt.Sprint("train", i))
		fifotest.Serve(b, path+"_0", data, 1)
		if err := read(path); err != nil {
			b.Fatal(err)
		}
	}
}
