package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/channel/channeltest"
	"github.com/algospec/algospec/internal/fifotest"
	"github.com/algospec/algospec/internal/pipesize"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// newPipe returns a pipe that serves source, and is closed at the end of the test.
func newPipe(tb testing.TB, source channel.Source) *pipe {
	tb.Helper()
	watcher, err := newWatcher()
	require.NoError(tb, err)
	p := &pipe{
		path: filepath.Join(tb.TempDir(), "train"), workshop: tb.TempDir(), watcher: watcher,
		name: "train", source: source, began: time.Now(), logger: slog.New(slog.DiscardHandler),
	}
	require.NoError(tb, p.make())
	tb.Cleanup(func() {
		p.close()
		watcher.close()
		left, err := filepath.Glob(p.path + "*")
		if err != nil || len(left) > 0 {
			tb.Error("pipes are left:", left, err)
		}
	})
	return p
}

// serve serves a pipe until the test ends.
func serve(tb testing.TB, p *pipe) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := p.serve(ctx); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		cancel()
		wait.Wait()
	})
}

// servePipe serves source through named pipes until the test ends, and returns their path.
func servePipe(tb testing.TB, source channel.Source) string {
	tb.Helper()
	p := newPipe(tb, source)
	serve(tb, p)
	return p.path
}

// Both ends together keep the contract that memory and files keep, early closes at the first byte
// included.
func TestAPipeIsASourceLikeAnyOther(t *testing.T) {
	for _, size := range []int{0, 1, 3000, 5 << 20} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			if size > 1<<20 && testing.Short() {
				t.Skip("short")
			}
			data := bytes.Repeat([]byte("x"), size)
			var want [channeltest.Epochs][]byte
			for i := range want {
				want[i] = data
			}
			path := servePipe(t, channel.Memory(data))
			require.NoError(t, channeltest.TestSource(t.Context(), channel.FIFO{Path: path}, want))
		})
	}
}

// A reader that comes and goes faster than anyone could poll is an epoch of its own.
func TestAReaderThatOpensAndClosesAtOnceIsSeen(t *testing.T) {
	path := servePipe(t, channel.Memory("data"))
	source := channel.FIFO{Path: path}
	for epoch := range 50 {
		reader, err := source.Open(t.Context(), epoch)
		require.NoError(t, err)
		require.NoError(t, reader.Close())
	}
	reader, err := source.Open(t.Context(), 50)
	require.NoError(t, err)
	defer reader.Close()
	got, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, "data", string(got))
}

// sourceFunc is a Source whose epochs are read by a function.
type sourceFunc func(ctx context.Context, epoch int, p []byte) (int, error)

func (f sourceFunc) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	return io.NopCloser(readerFunc(func(p []byte) (int, error) { return f(ctx, epoch, p) })), nil
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A reader that took it for the end would train on part of the data and call that a success.
func TestDataThatBreakOffAreNoEnd(t *testing.T) {
	down := errors.New("S3 is down")
	sent := false
	p := newPipe(t, sourceFunc(func(_ context.Context, _ int, b []byte) (int, error) {
		if sent {
			return 0, down
		}
		sent = true
		return copy(b, "half"), nil
	}))
	failed := make(chan error, 1)
	go func() { failed <- p.serve(t.Context()) }()
	file, err := os.OpenFile(p.path+"_0", os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer file.Close()
	err = <-failed
	require.ErrorIs(t, err, down)
	require.EqualError(t, err, "channel train, epoch 0: S3 is down")
	buf := make([]byte, 10)
	n, err := file.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "half", string(buf[:n]))
	require.NoError(t, file.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	_, err = file.Read(buf)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the pipe is open while the algorithm lives")
}

func TestPipesHaveTheirModeWhateverTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	p := newPipe(t, channel.Memory("data"))
	info, err := os.Stat(p.path + "_0")
	require.NoError(t, err)
	require.Equal(t, fs.ModeNamedPipe|0o666, info.Mode())
}

// That the data are late is not for the reader of two epochs to mend.
func TestLateDataAreNoProblemOfTheReaders(t *testing.T) {
	p := newPipe(t, sourceFunc(func(ctx context.Context, _ int, _ []byte) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}))
	p.stall = time.Nanosecond
	serve(t, p)
	for epoch := range 2 {
		reader, err := channel.FIFO{Path: p.path}.Open(t.Context(), epoch)
		require.NoError(t, err)
		defer reader.Close()
		require.Eventually(t, func() bool { return p.progress().Opens == epoch+1 }, time.Minute, time.Millisecond)
	}
	require.Eventually(t, func() bool { return p.clock.in(starved) > p.stall }, time.Minute, time.Millisecond)
	require.Empty(t, p.diagnose())
}

func TestADelayComesFromTheGeneratorAndKeepsItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := func(l LookAhead) (delays []time.Duration) {
			for range 10 {
				began := time.Now()
				require.NoError(t, l.wait(t.Context()))
				require.LessOrEqual(t, time.Since(began), time.Hour)
				delays = append(delays, time.Since(began))
			}
			return delays
		}
		seeded := func() LookAhead { return Delayed(time.Hour, rand.New(rand.NewPCG(1, 2))) }
		one, same := seeded(), seeded()
		train, test := one.fork(), one.fork()
		first, second := delays(train), delays(test)
		require.NotEqual(t, first, second)
		train, test = same.fork(), same.fork()
		require.Equal(t, second, delays(test), "whichever channel comes first")
		require.Equal(t, first, delays(train))
		require.Equal(t, delays(Delayed(time.Hour, nil).fork()), delays(Delayed(time.Hour, nil).fork()))
		for _, l := range []LookAhead{{}, Eager(), Late(), Ahead(), Delayed(0, nil)} {
			require.Equal(t, make([]time.Duration, 10), delays(l.fork()))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, seeded().fork().wait(ctx), context.Canceled)
	})
}

// The benchmarks below read the same 64 MiB: BareFIFO is the yardstick, one writer and one reader
// with nothing between them.
const benchBytes = 64 << 20

func BenchmarkBareFIFO(b *testing.B) {
	chunk := make([]byte, 256<<10)
	dir := b.TempDir()
	benchReads(b, func(i int) (io.ReadCloser, error) {
		path := filepath.Join(dir, fmt.Sprint(i))
		fifotest.Serve(b, path, chunk, benchBytes/len(chunk))
		r, err := os.Open(path)
		if err == nil {
			pipesize.Enlarge(r)
		}
		return r, err
	})
}

// BenchmarkS3 streams from the embedded server without a pipe, BenchmarkS3ToFIFO through one: the
// whole road from S3 to the container's reader.
func BenchmarkS3(b *testing.B) {
	source := benchSource(b)
	benchReads(b, func(i int) (io.ReadCloser, error) { return source.Open(b.Context(), i) })
}

func BenchmarkS3ToFIFO(b *testing.B) {
	fifo := channel.FIFO{Path: servePipe(b, benchSource(b))}
	benchReads(b, func(i int) (io.ReadCloser, error) { return fifo.Open(b.Context(), i) })
}

func benchSource(b *testing.B) channel.Source {
	b.Helper()
	server := s3test.New()
	b.Cleanup(func() { server.Close() })
	object := make([]byte, 8<<20)
	for i := range benchBytes / len(object) {
		require.NoError(b, server.Put("data", fmt.Sprintf("train/%d", i), bytes.NewReader(object)))
	}
	objects, err := s3stream.List(b.Context(), server.Client(), "s3://data/train/")
	require.NoError(b, err)
	return s3stream.NewSource(server.Client(), objects, s3stream.Options{})
}

func benchReads(b *testing.B, open func(i int) (io.ReadCloser, error)) {
	buf := make([]byte, 256<<10)
	b.SetBytes(benchBytes)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r, err := open(i)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buf)
		if n != benchBytes || err != nil {
			b.Fatal(n, err)
		}
		r.Close()
	}
}
