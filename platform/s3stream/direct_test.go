package s3stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/splice"
	"github.com/algospec/algospec/platform/s3test"
)

// namedPipe returns the two ends of a named pipe.
func namedPipe(t testing.TB) (r, w *os.File) {
	if !splice.Supported {
		t.Skip("this system has no splice(2)")
	}
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	w, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// counted counts what a PipeWriter is told.
type counted struct {
	*os.File
	written, moved atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.File.Write(p)
	c.written.Add(int64(n))
	return n, err
}
func (c *counted) Blocked()      {}
func (c *counted) Moved(n int64) { c.moved.Add(n) }

// drain reads a pipe to its end in a goroutine.
func drain(r io.Reader) func() []byte {
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(r)
		got <- all
	}()
	return func() []byte { return <-got }
}

// pour streams an epoch into a pipe and returns what came out at the other end.
func pour(t testing.TB, source *Source) (got []byte, pipe *counted, err error) {
	r, w := namedPipe(t)
	pipe = &counted{File: w}
	all := drain(r)
	epoch, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	n, err := epoch.(io.WriterTo).WriteTo(pipe)
	require.NoError(t, w.Close())
	got = all()
	require.EqualValues(t, len(got), n)
	require.EqualValues(t, len(got), pipe.written.Load()+pipe.moved.Load())
	return got, pipe, err
}

func listed(t testing.TB, server *s3test.Server) Objects {
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	return objects
}

func TestTheKernelMovesWhatNeedsNoChange(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 3_000_000, 0, 1, 5_000, 2_000_000, 70_000)
	source := NewSource(server.Client(), listed(t, server), Options{})
	got, pipe, err := pour(t, source)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	require.Greater(t, pipe.moved.Load(), int64(len(want)/2))
	require.EqualValues(t, len(want), source.Stats().Bytes)
}

func TestNothingIsMovedThatMustBeLookedAt(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 300_000, 500_000)
	checked := bytes.Repeat([]byte("x"), 200_000)
	_, err := server.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: optional("data"), Key: optional("part-000002"), Body: bytes.NewReader(checked), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c,
	})
	require.NoError(t, err)
	objects := listed(t, server)
	for name, test := range map[string]struct {
		opts    Options
		objects Objects
		client  Client
		want    []byte
	}{
		"lines":          {Options{Lines: true}, objects[:2], server.Client(), nil},
		"a checksum":     {Options{}, objects[2:], server.Client(), checked},
		"another client": {Options{}, objects[:2], server.Client(func(o *s3.Options) { o.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }), want},
	} {
		t.Run(name, func(t *testing.T) {
			got, pipe, err := pour(t, NewSource(test.client, test.objects, test.opts))
			require.NoError(t, err)
			require.Zero(t, pipe.moved.Load())
			if test.want != nil {
				require.True(t, bytes.Equal(test.want, got))
			}
		})
	}
}

func TestMovedBytesHealToo(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 900_000, 1_500_000, 40_000)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		var mu sync.Mutex
		server.SetFault(func(r *http.Request) *s3test.Fault {
			if !isGet(r) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			at := random.Int64N(600_000)
			switch random.IntN(6) {
			case 0:
				return &s3test.Fault{At: at, Cut: true}
			case 1:
				return &s3test.Fault{At: at, Stall: true}
			case 2:
				return &s3test.Fault{Status: 503, Code: "SlowDown"}
			}
			return nil
		})
		// The machine may be slower than that, and often.
		opts := Options{MaxBackoff: time.Millisecond, Idle: 30 * time.Millisecond, Tries: 10_000}
		source := NewSource(server.Client(), listed(t, server), opts)
		got, pipe, err := pour(t, source)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, sha256.Sum256(want), sha256.Sum256(got), "seed %d", seed)
		require.NotZero(t, pipe.moved.Load())
		server.SetFault(nil)
	}
}

func TestAMovedObjectThatChangesIsAnError(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 900_000)
	first := true
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if !isGet(r) {
			return nil
		}
		if first {
			first = false
			return &s3test.Fault{At: 600_000, Cut: true}
		}
		server.Put("data", "part-000000", strings.NewReader("new"))
		return nil
	})
	got, _, err := pour(t, NewSource(server.Client(), listed(t, server), Options{MaxBackoff: time.Millisecond}))
	require.ErrorIs(t, err, ErrChanged)
	require.ErrorContains(t, err, fmt.Sprintf("part-000000 at byte %d", len(got)))
	require.True(t, bytes.HasPrefix(want, got))
}

func TestAReaderThatLeavesEndsTheMove(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 3_000_000)
	r, w := namedPipe(t)
	epoch, err := NewSource(server.Client(), listed(t, server), Options{}).Open(t.Context(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	go func() {
		io.CopyN(io.Discard, r, 100_000)
		r.Close()
	}()
	_, err = epoch.(io.WriterTo).WriteTo(w)
	require.ErrorIs(t, err, syscall.EPIPE)
}

func TestAMoveEndsWithItsDeadlineAndItsContext(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 3_000_000)
	_, w := namedPipe(t) // nobody reads
	ctx, cancel := context.WithCancelCause(t.Context())
	epoch, err := NewSource(server.Client(), listed(t, server), Options{}).Open(ctx, 0)
	require.NoError(t, err)
	defer epoch.Close()
	stopped := errors.New("stopped")
	time.AfterFunc(20*time.Millisecond, func() {
		cancel(stopped)
		w.SetWriteDeadline(time.Unix(1, 0))
	})
	_, err = epoch.(io.WriterTo).WriteTo(w)
	require.Error(t, err)

	server.SetFault(stallBodies)
	_, w = namedPipe(t)
	ctx, cancel = context.WithCancelCause(t.Context())
	epoch, err = NewSource(server.Client(), listed(t, server), Options{}).Open(ctx, 0)
	require.NoError(t, err)
	defer epoch.Close()
	time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
	_, err = epoch.(io.WriterTo).WriteTo(w)
	require.Equal(t, stopped, err)
}

// A slow reader is no stall of the answer.
func TestASlowReaderIsNotTakenForASlowS3(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 2_000_000)
	r, w := namedPipe(t)
	source := NewSource(server.Client(), listed(t, server), Options{Idle: time.Second, Tries: 1})
	epoch, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	done := make(chan error, 1)
	go func() {
		_, err := epoch.(io.WriterTo).WriteTo(w)
		w.Close()
		done <- err
	}()
	time.Sleep(1200 * time.Millisecond)
	var got bytes.Buffer
	_, err = io.CopyN(&got, r, 500_000)
	require.NoError(t, err)
	time.Sleep(1200 * time.Millisecond)
	_, err = io.Copy(&got, r)
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.True(t, bytes.Equal(want, got.Bytes()))
}
