package platform

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/channel/channeltest"
	"github.com/algospec/algospec/internal/fifotest"
	"github.com/algospec/algospec/internal/pipesize"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// servePipe serves source through named pipes until the test ends, and returns their path.
func servePipe(tb testing.TB, source channel.Source) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "train")
	watcher, err := newWatcher()
	require.NoError(tb, err)
	p := &pipe{path: path, workshop: tb.TempDir(), watcher: watcher, name: "train", source: source, began: time.Now()}
	require.NoError(tb, p.make())
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
		p.close()
		watcher.close()
		left, err := filepath.Glob(path + "*")
		if err != nil || len(left) > 0 {
			tb.Error("pipes are left:", left, err)
		}
	})
	return path
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

func TestTheNextPipeIsThereAsSoonAsAReaderHasOpenedTheOneBefore(t *testing.T) {
	path := servePipe(t, channel.Memory(bytes.Repeat([]byte("x"), 4<<20)))
	require.NoFileExists(t, path+"_1")
	reader, err := os.Open(path + "_0") // blocks until the writer has opened it too
	require.NoError(t, err)
	defer reader.Close()
	require.Eventually(t, func() bool { _, err := os.Stat(path + "_1"); return err == nil }, time.Second, time.Millisecond)
	require.NoFileExists(t, path+"_2")
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

func TestFailureReasonsHaveTheServicesShape(t *testing.T) {
	long := strings.Repeat("é", 2000)
	for _, c := range []struct {
		text string
		code int
		want string
	}{
		{"", 1, "AlgorithmError: , exit code: 1"},
		{"it broke", 1, "AlgorithmError: it broke, exit code: 1"},
		{"bad data", 2, "ClientError: bad data, exit code: 2"},
		{"ClientError: k", 2, "ClientError: k, exit code: 2"},
		{"AlgorithmError: x", 2, "AlgorithmError: x, exit code: 2"},
		{"", 137, "AlgorithmError: , exit code: 137"},
		{long, 1, "AlgorithmError: " + strings.Repeat("é", 1024-16-14) + ", exit code: 1"},
	} {
		require.Equal(t, c.want, containerReason(c.text, c.code))
	}
}

func TestTheLogIsPassedOnByLinesHoweverItIsWritten(t *testing.T) {
	metrics, err := compileMetrics([]MetricDefinition{{"loss", `loss=(\S+)`}})
	require.NoError(t, err)
	var got []string
	log := &logLines{metrics: metrics, to: writerFunc(func(b []byte) (int, error) {
		got = append(got, string(b))
		return len(b), nil
	})}
	for _, part := range []string{"one\ntw", "o loss=", "0.5\nloss=nan\nloss=", "0.25 \nloss=x\n", "last"} {
		n, err := log.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	log.close()
	require.Equal(t, []string{"one\n", "two loss=0.5\n", "loss=nan\n", "loss=0.25 \n", "loss=x\n", "last\n"}, got)
	require.Equal(t, map[string]float64{"loss": 0.25}, log.values())
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

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
