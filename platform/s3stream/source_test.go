package s3stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform/s3test"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// small makes several parts of little data.
var small = Options{ReadAhead: 64 << 10, PartSize: 10_000, Concurrency: 4, Tries: 5, MaxBackoff: time.Millisecond}

func startServer(t testing.TB) *s3test.Server {
	server := s3test.New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	require.NoError(t, server.CreateBucket("data"))
	return server
}

// fillBucket stores objects of these sizes and returns their bytes together.
func fillBucket(t testing.TB, server *s3test.Server, sizes ...int) []byte {
	random := rand.NewChaCha8([32]byte{1})
	var all []byte
	for i, size := range sizes {
		body := make([]byte, size)
		random.Read(body)
		require.NoError(t, server.Put("data", fmt.Sprintf("part-%06d", i), bytes.NewReader(body)))
		all = append(all, body...)
	}
	return all
}

// open lists the bucket and opens an epoch of it.
func open(t testing.TB, ctx context.Context, server *s3test.Server, opts Options) io.ReadCloser {
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	epoch, err := NewSource(server.Client(), objects, opts).Open(ctx, 0)
	require.NoError(t, err)
	t.Cleanup(func() { epoch.Close() })
	return epoch
}

func TestEpochIsTheConcatenationOfTheObjects(t *testing.T) {
	many := make([]int, 150)
	for i := range many {
		many[i] = i * 7 % 500
	}
	for name, sizes := range map[string][]int{
		"one byte":                {1},
		"around the part size":    {9_999, 10_000, 10_001},
		"around two parts":        {19_999, 20_000, 20_001},
		"empty ones between":      {0, 5, 0, 0, 7, 0},
		"only empty ones":         {0, 0},
		"one large":               {1_000_003},
		"many small":              many,
		"large ones among small":  {3, 200_000, 1, 1, 100_000, 2},
		"exactly the read-ahead":  {64 << 10},
		"a byte over the buffers": {64<<10 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t)
			want := fillBucket(t, server, sizes...)
			objects, err := List(t.Context(), server.Client(), "s3://data/")
			require.NoError(t, err)
			source := NewSource(server.Client(), objects, small)
			for epoch := range 2 {
				stream, err := source.Open(t.Context(), epoch)
				require.NoError(t, err)
				got, err := io.ReadAll(onlyReader{stream})
				require.NoError(t, err)
				require.True(t, bytes.Equal(got, want))
				n, err := stream.Read(make([]byte, 1))
				require.Equal(t, 0, n)
				require.Equal(t, io.EOF, err, "again")
				require.NoError(t, stream.Close())

				stream, err = source.Open(t.Context(), epoch)
				require.NoError(t, err)
				var written bytes.Buffer
				count, err := stream.(io.WriterTo).WriteTo(&written)
				require.NoError(t, err)
				require.EqualValues(t, len(want), count)
				require.True(t, bytes.Equal(written.Bytes(), want))
				require.NoError(t, stream.Close())
			}
		})
	}
}

type onlyReader struct{ io.Reader }

func TestEpochIsAWellBehavedReader(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 5000, 1, 30_000)
	require.NoError(t, iotest.TestReader(open(t, t.Context(), server, small), want))
}

func TestEpochWithDefaultOptions(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 9<<20, 100, 300_000)
	got, err := io.ReadAll(open(t, t.Context(), server, Options{}))
	require.NoError(t, err)
	require.True(t, bytes.Equal(got, want))
}

func TestReadAndWriteToMayFollowEachOther(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 30_000)
	stream := open(t, t.Context(), server, small)
	head := make([]byte, 777)
	_, err := io.ReadFull(stream, head)
	require.NoError(t, err)
	var rest bytes.Buffer
	_, err = io.Copy(&rest, stream)
	require.NoError(t, err)
	require.True(t, bytes.Equal(append(head, rest.Bytes()...), want))
}

func TestEmptyShardEndsAtOnce(t *testing.T) {
	stream, err := NewSource(nil, nil, Options{}).Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	n, err := stream.Read(make([]byte, 10))
	require.Equal(t, 0, n)
	require.Equal(t, io.EOF, err)
}

func TestCloseAtAnyByte(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 50_000, 100, 200_000)
	for _, read := range []int{0, 1, 49_999, 50_000, 120_001, len(want) - 1, len(want)} {
		stream := open(t, t.Context(), server, small)
		got := make([]byte, read)
		_, err := io.ReadFull(stream, got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(got, want[:read]))
		require.NoError(t, stream.Close())
		require.NoError(t, stream.Close(), "twice")
		n, err := stream.Read(make([]byte, 1))
		require.Equal(t, 0, n)
		require.ErrorContains(t, err, "file already closed")
	}
}

func TestCloseFreesAReadThatWaits(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 50_000)
	server.SetFault(stallBodies)
	stream := open(t, t.Context(), server, small)
	failed := make(chan error)
	go func() {
		_, err := stream.Read(make([]byte, 1))
		failed <- err
	}()
	time.Sleep(10 * time.Millisecond) // so that it waits, most times
	require.NoError(t, stream.Close())
	require.ErrorContains(t, <-failed, "file already closed")
}

func stallBodies(r *http.Request) *s3test.Fault {
	if isGet(r) {
		return &s3test.Fault{Stall: true}
	}
	return nil
}

func isGet(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/data/part-")
}

func TestCancelledContextReturnsItsCause(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 50_000)
	cause := errors.New("the job was stopped")

	server.SetFault(stallBodies)
	ctx, cancel := context.WithCancelCause(t.Context())
	stream := open(t, ctx, server, small)
	time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
	_, err := io.ReadAll(stream)
	require.Equal(t, cause, err)

	server.SetFault(nil)
	ctx, cancel = context.WithCancelCause(t.Context())
	stream = open(t, ctx, server, small)
	_, err = io.ReadFull(stream, make([]byte, 100))
	require.NoError(t, err)
	cancel(cause)
	_, err = stream.Read(make([]byte, 1))
	require.Equal(t, cause, err, "though bytes are there")
	_, err = NewSource(server.Client(), nil, small).Open(ctx, 0)
	require.Equal(t, cause, err)
}

func TestFirstBytesDoNotWaitForTheRest(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 60_000, 60_000)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if isGet(r) { // not even the first part arrives whole
			return &s3test.Fault{At: 9_000, Stall: true}
		}
		return nil
	})
	stream := open(t, t.Context(), server, small)
	got := make([]byte, 8_192) // two blocks
	_, err := io.ReadFull(stream, got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(got, want[:8_192]))
}

// What has been asked for and not been read never exceeds ReadAhead.
func TestMemoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			ReadAhead:   rapid.Int64Range(1, 3_000).Draw(t, "read ahead"),
			PartSize:    rapid.Int64Range(0, 4_000).Draw(t, "part size"),
			Concurrency: rapid.IntRange(1, 8).Draw(t, "concurrency"),
		}
		sizes := rapid.SliceOfN(rapid.IntRange(0, 1_000), 1, 8).Draw(t, "sizes")
		client := &memoryClient{}
		var objects Objects
		var want []byte
		for i, size := range sizes {
			body := bytes.Repeat([]byte{byte('a' + i)}, size)
			client.bodies = append(client.bodies, body)
			objects = append(objects, Object{Bucket: "data", Key: fmt.Sprint(i), Size: int64(size)})
			if rapid.Bool().Draw(t, "not listed") {
				objects[i].Size = unknown
			}
			want = append(want, body...)
		}
		source := NewSource(client, objects, opts)
		stream, err := source.Open(context.Background(), 0)
		require.NoError(t, err)
		defer stream.Close()
		blocks := stream.(*epoch).blocks
		var got []byte
		for {
			piece := make([]byte, 1+len(got)*7%900)
			n, err := stream.Read(piece)
			got = append(got, piece[:n]...)
			if held := source.Stats().Fetched - int64(len(got)); held > opts.ReadAhead {
				t.Fatalf("%d bytes held, ReadAhead %d", held, opts.ReadAhead)
			}
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.Equal(t, string(want), string(got))
		require.LessOrEqual(t, int64(len(blocks.made)*blocks.size), opts.ReadAhead)
		require.NoError(t, stream.Close())
		require.Zero(t, source.Stats().Held)
	})
}

// A memoryClient serves objects named by their numbers.
type memoryClient struct {
	Client
	bodies [][]byte
}

func (c *memoryClient) HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	return nil, errors.New("no")
}

func (c *memoryClient) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	var i int
	fmt.Sscan(*in.Key, &i)
	body := c.bodies[i]
	out := &s3.GetObjectOutput{}
	if in.Range != nil {
		var from, last int
		fmt.Sscanf(*in.Range, "bytes=%d-%d", &from, &last)
		text := fmt.Sprintf("bytes %d-%d/%d", from, last, len(body))
		out.ContentRange = &text
		body = body[from : last+1]
	}
	out.ContentLength = aws.Int64(int64(len(body)))
	out.Body = io.NopCloser(bytes.NewReader(body))
	return out, nil
}
