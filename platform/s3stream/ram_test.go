package s3stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// A ram is S3 in memory. It has no sockets, so it may stand in a bubble of
// testing/synctest, and it knows no checksums unless head has them.
type ram struct {
	Client
	objects map[string][]byte
	meddle  func(ctx context.Context, in *s3.GetObjectInput, out *s3.GetObjectOutput) error // before the answer; may be nil
	head    func(ctx context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) // may be nil
}

// list returns the objects in the order of these keys, or with an unknown size.
func (r *ram) list(size func(key string) int64, keys ...string) (objects Objects) {
	for _, key := range keys {
		objects = append(objects, Object{Bucket: "data", Key: key, Size: size(key)})
		if objects[len(objects)-1].Size != unknown {
			objects[len(objects)-1].ETag = tagOf(key)
		}
	}
	return objects
}

func (r *ram) sized(key string) int64 { return int64(len(r.objects[key])) }

func unsized(string) int64 { return unknown }

func tagOf(key string) string { return `"tag of ` + key + `"` }

func (r *ram) HeadObject(ctx context.Context, in *s3.HeadObjectInput, _ ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	if r.head == nil {
		return nil, errors.New("no")
	}
	return r.head(ctx, in)
}

func (r *ram) GetObject(ctx context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	body, ok := r.objects[*in.Key]
	if !ok {
		return nil, fmt.Errorf("no object %s", *in.Key)
	}
	out := &s3.GetObjectOutput{ETag: aws.String(tagOf(*in.Key))}
	if in.Range != nil {
		var from, last int
		fmt.Sscanf(*in.Range, "bytes=%d-%d", &from, &last)
		out.ContentRange = aws.String(fmt.Sprintf("bytes %d-%d/%d", from, last, len(body)))
		body = body[from : last+1]
	}
	out.ContentLength = aws.Int64(int64(len(body)))
	out.Body = whileAlive{ctx, bytes.NewReader(body)}
	if r.meddle != nil {
		if err := r.meddle(ctx, in, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// whileAlive reads until its request is cancelled.
type whileAlive struct {
	ctx context.Context
	io.Reader
}

func (r whileAlive) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	return r.Reader.Read(p)
}

func (whileAlive) Close() error { return nil }

// readerFunc is a Read method.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// stalled brings no byte until its request is cancelled.
func stalled(ctx context.Context) io.Reader {
	return readerFunc(func([]byte) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
}

// through returns a client of the server whose HTTP answers pass through meddle.
func through(server *s3test.Server, meddle func(*http.Response)) *s3.Client {
	transport := server.Config().HTTPClient.(*http.Client).Transport
	return server.Client(func(o *s3.Options) {
		o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			answer, err := transport.RoundTrip(r)
			if err == nil {
				meddle(answer)
			}
			return answer, err
		})}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// put stores one object without a checksum.
func put(t testing.TB, server *s3test.Server, key string, body []byte) {
	t.Helper()
	require.NoError(t, server.Put("data", key, bytes.NewReader(body)))
}

// openList opens epoch 0 of a list.
func openList(t testing.TB, client Client, list Listing, opts Options) io.ReadCloser {
	t.Helper()
	epoch, err := NewSource(client, list, opts).Open(t.Context(), 0)
	require.NoError(t, err)
	t.Cleanup(func() { epoch.Close() })
	return epoch
}

// requireSame is require.Equal for much data.
func requireSame(t require.TestingT, want, got []byte) {
	if bytes.Equal(want, got) {
		return
	}
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	require.Failf(t, "bytes differ", "want %d bytes, got %d; the first difference is at %d", len(want), len(got), i)
}

// noise is bytes of no pattern, other ones for each seed.
func noise(seed, n int) []byte {
	p := make([]byte, n)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for i := range p {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		p[i] = byte(x >> 32)
	}
	return p
}

// text is lines of text.
func text(lines int) []byte {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%d,%d,%d\n", i, i*i, i*7919%1000)
	}
	return []byte(b.String())
}
