package s3stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// within fails where f takes longer than it should.
func within(t testing.TB, limit time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Errorf("%s: still going after %v", what, limit)
	}
}

// unlisted are references as of an augmented manifest.
func unlisted(objects Objects) Objects {
	var refs Objects
	for _, o := range objects {
		refs = append(refs, Object{Bucket: o.Bucket, Key: o.Key, Size: unknown})
	}
	return refs
}

func TestReferencesThatCannotBeMovedIntoAPipeAreCopied(t *testing.T) {
	for _, size := range []int{0, 1, 5_000, 300_000, 600_000, 3_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			server := startServer(t)
			want := fillBucket(t, server, size, size)
			client := server.Client(func(o *s3.Options) { o.HTTPClient = &http.Client{Transport: &http.Transport{}} }) // not Spliceable
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			epoch, err := NewSource(client, unlisted(listed(t, server)), Options{}).Open(ctx, 0)
			require.NoError(t, err)
			defer epoch.Close()
			r, w := namedPipe(t)
			all := drain(r)
			_, err = epoch.(io.WriterTo).WriteTo(w)
			w.Close()
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, all()))
		})
	}
}

func TestCloseDoesNotWaitForThePipeOfAMove(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 3_000_000)
	_, w := namedPipe(t) // nobody reads
	epoch, err := NewSource(server.Client(), listed(t, server), Options{}).Open(t.Context(), 0)
	require.NoError(t, err)
	go epoch.(io.WriterTo).WriteTo(w)
	time.Sleep(100 * time.Millisecond)
	within(t, time.Minute, "Close", func() { epoch.Close() })
}

func TestCloseDoesNotWaitForTheWriterOfSmallChunks(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 3_000, 3_000)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.URL.Path == "/data/part-000001" {
			return &s3test.Fault{Delay: 300 * time.Millisecond}
		}
		return nil
	})
	_, w := io.Pipe() // nobody reads
	epoch, err := NewSource(server.Client(), listed(t, server), Options{}).Open(t.Context(), 0)
	require.NoError(t, err)
	go epoch.(io.WriterTo).WriteTo(w)
	time.Sleep(100 * time.Millisecond)
	within(t, time.Minute, "Close", func() { epoch.Close() })
	w.Close()
}

func TestAStreamWhoseMoveFailedIsNotReadOnWithAHole(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 3_000_000, 10)
	r, w := namedPipe(t)
	epoch, err := NewSource(server.Client(), listed(t, server), Options{}).Open(t.Context(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	go func() { io.CopyN(io.Discard, r, 100_000); r.Close() }()
	n, err := epoch.(io.WriterTo).WriteTo(w)
	require.ErrorIs(t, err, syscall.EPIPE)
	rest, err := io.ReadAll(epoch)
	if err == nil && n+int64(len(rest)) < 3_000_010 {
		t.Errorf("moved %d, then read %d bytes and io.EOF", n, len(rest))
	}
}

func TestABucketOfAnotherRegionIsNotAskedAgain(t *testing.T) {
	var requests atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusMovedPermanently)
		io.WriteString(w, `<Error><Code>PermanentRedirect</Code><Message>The bucket you are attempting to access must be addressed using the specified endpoint.</Message></Error>`)
	}))
	defer elsewhere.Close()
	server := startServer(t)
	client := server.Client(func(o *s3.Options) { o.BaseEndpoint = &elsewhere.URL })
	epoch, err := NewSource(client, Objects{{Bucket: "data", Key: "x", Size: unknown}}, Options{MaxBackoff: time.Millisecond}).Open(t.Context(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	_, err = io.ReadAll(epoch)
	var failed *ObjectError
	require.ErrorAs(t, err, &failed)
	t.Log(err)
	require.EqualValues(t, 1, requests.Load())
	require.True(t, failed.ClientError())
}

func TestAChecksumThatNobodyWaitsForAnyMoreIsNoWarning(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 300_000)
	objects := listed(t, server)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodHead {
			return &s3test.Fault{Delay: time.Minute}
		}
		return nil
	})
	var log bytes.Buffer
	epoch, err := NewSource(server.Client(), objects, Options{PartSize: 100_000, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Open(t.Context(), 0)
	require.NoError(t, err)
	go epoch.Read(make([]byte, 1))
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, epoch.Close())
	require.Empty(t, log.String())
}

// late answers GetObject only when its context is done.
type late struct{ *s3.Client }

func (c late) GetObject(ctx context.Context, in *s3.GetObjectInput, options ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	<-ctx.Done()
	time.Sleep(20 * time.Millisecond)
	return c.Client.GetObject(context.WithoutCancel(ctx), in, options...)
}

// For go test -race: the reader gives up while the size becomes known.
func TestASizeThatComesTooLateIsNotLookedAt(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 5_000)
	ctx, cancel := context.WithCancel(t.Context())
	epoch, err := NewSource(late{server.Client()}, unlisted(listed(t, server)), Options{}).Open(ctx, 0)
	require.NoError(t, err)
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = epoch.Read(make([]byte, 1))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, epoch.Close())
}
