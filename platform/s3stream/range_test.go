package s3stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// storeOne stores an object and says what a listing does of it.
func storeOne(t *testing.T, server *s3test.Server, size int) ([]byte, Object) {
	body := noise(1, size)
	put(t, server, "part-0", body)
	objects, err := List(t.Context(), server.Client(), "s3://data/part-0")
	require.NoError(t, err)
	return body, objects[0]
}

func TestOpenRangeReadsTheRange(t *testing.T) {
	server := startServer(t)
	body, object := storeOne(t, server, 300_000)
	for _, c := range [][2]int64{{0, 300_000}, {0, 1}, {299_999, 300_000}, {1_000, 200_000}, {5, 5}, {0, 0}, {300_000, 300_000}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			want := body[c[0]:c[1]]
			for _, read := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader,
			} {
				r := OpenRange(t.Context(), server.Client(), object, c[0], c[1], small)
				got, err := io.ReadAll(read(r))
				require.NoError(t, err)
				requireSame(t, want, got)
				n, err := r.Read(make([]byte, 1))
				require.Equal(t, io.EOF, err, "again")
				require.Zero(t, n)
				require.NoError(t, r.Close())
			}
			if len(want) < 10_000 {
				r := OpenRange(t.Context(), server.Client(), object, c[0], c[1], small)
				require.NoError(t, iotest.TestReader(r, want))
				require.NoError(t, r.Close())
			}
		})
	}
	r := OpenRange(t.Context(), server.Client(), object, 7, 2_007, small)
	require.NoError(t, iotest.TestReader(r, body[7:2_007]))
	require.NoError(t, r.Close())
}

func TestOpenRangeAsksWhenItIsFirstRead(t *testing.T) {
	server := startServer(t)
	_, object := storeOne(t, server, 1_000)
	requests := 0
	client := through(server, func(*http.Response) { requests++ })
	r := OpenRange(t.Context(), client, object, 0, 1_000, small)
	require.NoError(t, r.Close())
	empty := OpenRange(t.Context(), client, object, 10, 10, small)
	_, err := empty.Read(nil)
	require.Equal(t, io.EOF, err)
	require.NoError(t, empty.Close())
	require.Zero(t, requests)
}

func TestOpenRangeRefusesWhatIsNoRange(t *testing.T) {
	object := Object{Bucket: "data", Key: "a", Size: 100}
	for _, c := range [][2]int64{{-1, 10}, {0, 101}, {50, 40}, {101, 101}, {-5, -5}} {
		r := OpenRange(t.Context(), nil, object, c[0], c[1], small)
		n, err := r.Read(make([]byte, 10))
		require.Zero(t, n)
		var failed *ObjectError
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, fmt.Sprintf("s3://data/a at byte %d: asked for bytes %d to %d of 100", c[0], c[0], c[1]))
		require.NoError(t, r.Close())
	}
	object.Size = unknown
	_, err := OpenRange(t.Context(), nil, object, 0, 1, small).Read(make([]byte, 1))
	require.Error(t, err)
}

func TestOpenRangeGoesOnWhereItBroke(t *testing.T) {
	server := startServer(t)
	body, object := storeOne(t, server, 30_000)
	var ranges []string
	server.SetFault(func(r *http.Request) *s3test.Fault {
		ranges = append(ranges, r.Header.Get("Range")+" of "+strings.Trim(r.Header.Get("If-Match"), `"`))
		if len(ranges) <= 3 {
			return &s3test.Fault{At: 4_000, Cut: true}
		}
		return nil
	})
	r := OpenRange(t.Context(), server.Client(), object, 1_000, 29_000, small)
	defer r.Close()
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	requireSame(t, body[1_000:29_000], got)
	tag := " of " + strings.Trim(object.ETag, `"`)
	require.Equal(t, []string{
		"bytes=1000-28999" + tag, "bytes=5000-28999" + tag, "bytes=9000-28999" + tag, "bytes=13000-28999" + tag,
	}, ranges)
}

func TestOpenRangeFailsAsASourceDoes(t *testing.T) {
	server := startServer(t)
	body, object := storeOne(t, server, 30_000)
	read := func() ([]byte, error) {
		r := OpenRange(t.Context(), server.Client(), object, 10_000, 20_000, small)
		defer r.Close()
		got, err := io.ReadAll(r)
		_, again := r.Read(make([]byte, 1))
		require.Equal(t, err, again)
		return got, err
	}
	server.SetFault(func(*http.Request) *s3test.Fault { return &s3test.Fault{At: 100, Cut: true} })
	got, err := read()
	requireObjectError(t, err, "part-0", 10_500, io.ErrUnexpectedEOF, false) // five tries
	requireSame(t, body[10_000:10_500], got)

	server.SetFault(func(*http.Request) *s3test.Fault { return &s3test.Fault{Status: 403, Code: "AccessDenied"} })
	_, err = read()
	require.ErrorContains(t, err, "AccessDenied")

	server.SetFault(nil)
	put(t, server, "part-0", noise(2, 30_000))
	_, err = read()
	requireObjectError(t, err, "part-0", 10_000, ErrChanged, true)
}

func TestOpenRangeCloseMidway(t *testing.T) {
	server := startServer(t)
	body, object := storeOne(t, server, 3<<20)
	r := OpenRange(t.Context(), server.Client(), object, 0, object.Size, small)
	got := make([]byte, 1_000)
	_, err := io.ReadFull(r, got)
	require.NoError(t, err)
	requireSame(t, body[:1_000], got)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "twice")
	n, err := r.Read(got)
	require.Zero(t, n)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestOpenRangeReturnsTheCauseOfItsContext(t *testing.T) {
	server := startServer(t)
	_, object := storeOne(t, server, 30_000)
	cause := errors.New("the job was stopped")
	server.SetFault(func(*http.Request) *s3test.Fault { return &s3test.Fault{At: 500, Stall: true} })
	ctx, cancel := context.WithCancelCause(t.Context())
	r := OpenRange(ctx, server.Client(), object, 0, object.Size, small)
	defer r.Close()
	_, err := io.ReadFull(r, make([]byte, 500))
	require.NoError(t, err)
	time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
	_, err = io.Copy(io.Discard, r)
	require.Equal(t, cause, err)
	_, err = OpenRange(ctx, server.Client(), object, 0, object.Size, small).Read(make([]byte, 1))
	require.Equal(t, cause, err)

	// Bytes that are there do not hide the cause.
	client := &ram{objects: map[string][]byte{"a": make([]byte, 1_000)}}
	ctx, cancel = context.WithCancelCause(t.Context())
	there := OpenRange(ctx, client, client.list(client.sized, "a")[0], 0, 1_000, small)
	defer there.Close()
	_, err = io.ReadFull(there, make([]byte, 500))
	require.NoError(t, err)
	cancel(cause)
	_, err = there.Read(make([]byte, 1))
	require.Equal(t, cause, err)
}

func TestOpenRangeVerifiesWhatComesWhole(t *testing.T) {
	server := startServer(t)
	body := noise(1, 9_000)
	putSummed(t, server, "part-0", body, checksumTypes[0])
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	wrong := through(server, func(r *http.Response) { r.Body = &flipping{r.Body, 77} })
	r := OpenRange(t.Context(), wrong, objects[0], 0, objects[0].Size, small)
	defer r.Close()
	got, err := io.ReadAll(r)
	require.ErrorIs(t, err, ErrChecksum)
	require.False(t, bytes.Equal(body, got))
}
