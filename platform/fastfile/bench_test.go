package fastfile_test

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
)

const benchmarkSize = 256 << 20

func benchmarkWorld(b *testing.B) *world {
	w := newWorld(b)
	require.NoError(b, w.Put("data", "train/big", bytes.NewReader(make([]byte, benchmarkSize))))
	return w
}

type onlyWriter struct{ io.Writer }

// drain reads to the end as most programs do.
func drain(b *testing.B, r io.Reader, buffer []byte) {
	n, err := io.CopyBuffer(onlyWriter{io.Discard}, struct{ io.Reader }{r}, buffer)
	require.NoError(b, err)
	require.EqualValues(b, benchmarkSize, n)
}

// cpu reports how much of the processor each gigabyte took, on both sides: a
// figure that a busy machine does not change as much as the rate.
func cpu(b *testing.B) (report func()) {
	before := used(b)
	return func() {
		bytes := float64(b.N) * benchmarkSize
		b.ReportMetric((used(b)-before).Seconds()/bytes*1e9, "cpu-s/GB")
	}
}

func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSequential reads one object of 256 MiB: as a stream, which is the
// yardstick, in the process and through the kernel.
func BenchmarkSequential(b *testing.B) {
	w := benchmarkWorld(b)
	buffer := make([]byte, 256<<10)
	b.Run("s3stream", func(b *testing.B) {
		b.SetBytes(benchmarkSize)
		defer cpu(b)()
		objects, err := s3stream.List(b.Context(), w.Client(), "s3://data/train/")
		require.NoError(b, err)
		source := s3stream.NewSource(w.Client(), objects, s3stream.Options{})
		for i := 0; b.Loop(); i++ {
			epoch, err := source.Open(b.Context(), i)
			require.NoError(b, err)
			drain(b, epoch, buffer)
			require.NoError(b, epoch.Close())
		}
	})
	b.Run("fs", func(b *testing.B) {
		b.SetBytes(benchmarkSize)
		defer cpu(b)()
		for b.Loop() {
			f, err := fastfile.New(b.Context(), w.Client(), w.list(b), fastfile.Options{})
			require.NoError(b, err)
			file, err := f.Open("big")
			require.NoError(b, err)
			drain(b, file, buffer)
			require.NoError(b, f.Close())
		}
	})
	b.Run("mount", func(b *testing.B) {
		testenv.FUSE(b)
		b.SetBytes(benchmarkSize)
		defer cpu(b)()
		for b.Loop() { // a new mount each time: the kernel must not have it
			b.StopTimer()
			dir := b.TempDir()
			f, err := fastfile.Mount(b.Context(), dir, w.Client(), w.list(b), fastfile.Options{})
			require.NoError(b, err)
			b.StartTimer()
			file, err := os.Open(filepath.Join(dir, "big"))
			require.NoError(b, err)
			drain(b, file, buffer)
			require.NoError(b, file.Close())
			b.StopTimer()
			require.NoError(b, f.Close())
			b.StartTimer()
		}
	})
}

// BenchmarkRandom reads 4 KiB at a time at random places of 256 MiB that are
// in no cache, for the most part.
func BenchmarkRandom(b *testing.B) {
	w := benchmarkWorld(b)
	run := func(b *testing.B, f *fastfile.FS, file io.ReaderAt) {
		rng := rand.New(rand.NewPCG(1, 2))
		page := make([]byte, 4<<10)
		for b.Loop() {
			_, err := file.ReadAt(page, rng.Int64N(benchmarkSize/4096)*4096)
			require.NoError(b, err)
		}
		s := f.Stats()
		b.ReportMetric(float64(s.BytesFetched)/float64(b.N)/1024, "KiB-fetched/op")
	}
	small := fastfile.Options{Cache: 8 << 20}
	b.Run("fs", func(b *testing.B) {
		f := w.open(b, small)
		file, err := f.Open("big")
		require.NoError(b, err)
		run(b, f, file.(interface {
			fs.File
			io.ReaderAt
		}))
	})
	b.Run("mount", func(b *testing.B) {
		f, dir := w.mount(b, small)
		file, err := os.Open(filepath.Join(dir, "big"))
		require.NoError(b, err)
		defer file.Close()
		run(b, f, file)
	})
}
