package s3stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// readObjects reads an epoch of three objects, of which mischief befalls the
// second between listing and reading.
func readObjects(t *testing.T, server *s3test.Server, mischief func()) ([]byte, error) {
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	mischief()
	stream, err := NewSource(server.Client(), objects, small).Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	return io.ReadAll(stream)
}

func requireObjectError(t *testing.T, err error, key string, offset int64, cause error, client bool) {
	t.Helper()
	var failed *ObjectError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, ObjectError{"data", key, offset, failed.Err}, *failed)
	require.ErrorIs(t, err, cause)
	require.Equal(t, client, failed.ClientError())
	require.True(t, strings.HasPrefix(err.Error(), "Data download failed: s3://data/"+key), err.Error())
}

func TestVanishedObjectIsAnErrorAfterWhatIsBeforeIt(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 100, 25_000, 100)
	got, err := readObjects(t, server, func() {
		_, err := server.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{
			Bucket: aws.String("data"), Key: aws.String("part-000001"),
		})
		require.NoError(t, err)
	})
	requireObjectError(t, err, "part-000001", 0, ErrVanished, true)
	require.EqualError(t, err, "Data download failed: s3://data/part-000001 at byte 0: the object is gone since it was listed")
	require.True(t, bytes.Equal(got, want[:100]))
}

func TestChangedObjectIsAnError(t *testing.T) {
	for name, body := range map[string]string{
		"longer": strings.Repeat("x", 30_000), "shorter": "x", "empty": "", "same length": strings.Repeat("x", 25_000),
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t)
			want := fillBucket(t, server, 100, 25_000, 100)
			got, err := readObjects(t, server, func() {
				require.NoError(t, server.Put("data", "part-000001", strings.NewReader(body)))
			})
			requireObjectError(t, err, "part-000001", 0, ErrChanged, true)
			require.True(t, bytes.Equal(got, want[:100]))
		})
	}
}

// The object changes while it is read: what has come is the old object, and no
// byte of the new one follows.
func TestObjectThatChangesWhenItsBodyBreaks(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 8_000)
	var once sync.Once
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if !isGet(r) {
			return nil
		}
		var fault *s3test.Fault
		once.Do(func() { fault = &s3test.Fault{At: 5_000, Cut: true} })
		if fault == nil {
			server.Put("data", "part-000000", bytes.NewReader(make([]byte, 8_000)))
		}
		return fault
	})
	got, err := readObjects(t, server, func() {})
	requireObjectError(t, err, "part-000000", 5_000, ErrChanged, true)
	require.True(t, bytes.HasPrefix(want, got))
}

func TestBrokenBodyIsHealedFromItsByte(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 3_000, 8_000, 35_000)
	var mu sync.Mutex
	requests := map[string]int{}
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if !isGet(r) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		name := r.URL.Path + " " + r.Header.Get("Range")
		requests[name]++
		if requests[name] > 1 || r.Header.Get("If-Match") == "" {
			t.Errorf("asked again, or without If-Match: %s", name)
		}
		if ranged := r.Header.Get("Range"); ranged == "" || strings.Contains(ranged, "0000-") { // the first try
			return &s3test.Fault{At: 1_234, Cut: true}
		}
		return nil
	})
	got, err := readObjects(t, server, func() {})
	require.NoError(t, err)
	require.True(t, bytes.Equal(got, want))
	require.Contains(t, requests, "/data/part-000000 bytes=1234-2999")
}

func TestAStalledBodyIsAskedForAgainFromItsByte(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 3_000, 8_000)
	var once sync.Once
	server.SetFault(func(r *http.Request) (fault *s3test.Fault) {
		if isGet(r) && strings.HasSuffix(r.URL.Path, "part-000000") {
			once.Do(func() { fault = &s3test.Fault{At: 1_000, Stall: true} })
		}
		return fault
	})
	objects, err := List(t.Context(), server.Client(), "s3://data/part-")
	require.NoError(t, err)
	opts := small
	opts.Idle = 500 * time.Millisecond
	stream, err := NewSource(server.Client(), objects, opts).Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	got, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))

	server.SetFault(func(r *http.Request) *s3test.Fault {
		if isGet(r) {
			return &s3test.Fault{At: 1_000, Stall: true}
		}
		return nil
	})
	opts.Tries = 2
	stalled, err := NewSource(server.Client(), objects, opts).Open(t.Context(), 1)
	require.NoError(t, err)
	defer stalled.Close()
	_, err = io.ReadAll(stalled)
	require.ErrorContains(t, err, "no byte came for 500ms")
}

func TestBodyThatAlwaysBreaksIsAnErrorWithItsByte(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 100, 8_000, 100)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if strings.HasSuffix(r.URL.Path, "part-000001") {
			return &s3test.Fault{At: 1_000, Cut: true}
		}
		return nil
	})
	got, err := readObjects(t, server, func() {})
	requireObjectError(t, err, "part-000001", 5_000, io.ErrUnexpectedEOF, false) // five tries
	require.True(t, bytes.HasPrefix(want, got))
}

func TestThrottlingIsWaitedOutAndHalvesTheRequests(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 100, 8_000, 100)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	var mu sync.Mutex
	seen := map[string]int{}
	server.SetFault(func(r *http.Request) *s3test.Fault {
		mu.Lock()
		defer mu.Unlock()
		if seen[r.URL.Path]++; seen[r.URL.Path] <= 2 && isGet(r) {
			return &s3test.Fault{Status: 503, Code: "SlowDown"}
		}
		return nil
	})
	source := NewSource(server.Client(), objects, small)
	stream, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	got, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.True(t, bytes.Equal(got, want))
	stats := source.Stats()
	require.EqualValues(t, 6, stats.Throttled)
	require.EqualValues(t, 6, stats.Retries)
	require.EqualValues(t, 9, stats.Requests)
}

func TestThrottlingThatLastsIsAnError(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 100)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if isGet(r) {
			return &s3test.Fault{Status: 503, Code: "SlowDown"}
		}
		return nil
	})
	_, err := readObjects(t, server, func() {})
	var failed *ObjectError
	require.ErrorAs(t, err, &failed)
	require.False(t, failed.ClientError())
	require.ErrorContains(t, err, "SlowDown")
}

func TestForbiddenObjectIsTheClientsFault(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 100)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if isGet(r) {
			return &s3test.Fault{Status: 403, Code: "AccessDenied"}
		}
		return nil
	})
	_, err := readObjects(t, server, func() {})
	var failed *ObjectError
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.ClientError())
	require.ErrorContains(t, err, "AccessDenied")
}

func TestServerThatIgnoresTheRangeIsNotBelieved(t *testing.T) {
	client := &memoryClient{bodies: [][]byte{make([]byte, 30_000)}}
	stream, err := NewSource(rangeless{client}, Objects{{Bucket: "data", Key: "0", Size: 30_000}}, small).Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	_, err = io.ReadAll(stream)
	require.ErrorContains(t, err, `s3://data/0 at byte 0: asked for "bytes 0-9999/30000", got ""`)
}

type rangeless struct{ *memoryClient }

func (c rangeless) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	in.Range = nil
	return c.memoryClient.GetObject(ctx, in, opts...)
}

func TestWriterThatFailsEndsWriteTo(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 50_000)
	broken := errors.New("broken pipe")
	stream := open(t, t.Context(), server, small)
	_, err := io.Copy(writerFunc(func([]byte) (int, error) { return 0, broken }), stream)
	require.Equal(t, broken, err)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
