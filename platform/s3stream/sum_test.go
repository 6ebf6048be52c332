package s3stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

var checksumTypes = []types.ChecksumAlgorithm{
	types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmCrc64nvme,
	types.ChecksumAlgorithmSha1, types.ChecksumAlgorithmSha256,
}

// putSummed stores an object with a checksum of its whole.
func putSummed(t *testing.T, server *s3test.Server, key string, body []byte, algorithm types.ChecksumAlgorithm) {
	t.Helper()
	_, err := server.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("data"), Key: &key, Body: bytes.NewReader(body), ChecksumAlgorithm: algorithm,
	})
	require.NoError(t, err)
}

// flipping flips a bit of the body where it comes by.
type flipping struct {
	io.ReadCloser
	at int64 // how far away the bit is
}

func (f *flipping) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if f.at >= 0 && f.at < int64(n) {
		p[f.at] ^= 1
	}
	f.at -= int64(n)
	return n, err
}

func TestChecksumOfAnObjectInRangesIsVerified(t *testing.T) {
	for _, algorithm := range checksumTypes {
		t.Run(string(algorithm), func(t *testing.T) {
			server := startServer(t)
			body := noise(1, 35_000)
			putSummed(t, server, "part-0", body, algorithm)
			putSummed(t, server, "part-1", []byte("next"), algorithm)
			objects, err := List(t.Context(), server.Client(), "s3://data/")
			require.NoError(t, err)
			heads := 0
			counting := through(server, func(r *http.Response) {
				if r.Request.Method == http.MethodHead {
					heads++
				}
			})
			requireEveryWay(t, NewSource(counting, objects, small), append(bytes.Clone(body), "next"...))
			require.Equal(t, 3, heads, "of the large object, once in each epoch")

			for _, at := range []int64{0, 9_999, 20_480, 34_999} {
				wrong := through(server, func(r *http.Response) {
					var from, last int64
					if n, _ := fmt.Sscanf(r.Request.Header.Get("Range"), "bytes=%d-%d", &from, &last); n == 2 && from <= at && at <= last {
						r.Body = &flipping{r.Body, at - from}
					}
				})
				source := NewSource(wrong, objects, small)
				stream, err := source.Open(t.Context(), 0)
				require.NoError(t, err)
				got, err := io.ReadAll(stream)
				require.NoError(t, stream.Close())
				requireObjectError(t, err, "part-0", 35_000, ErrChecksum, false)
				require.Len(t, got, 35_000, "nothing of the next object")
				require.Zero(t, source.Stats().Items, "none was delivered whole")
			}
		})
	}
}

// What comes in one answer the SDK verifies.
func TestChecksumOfAnObjectInOneAnswerIsVerified(t *testing.T) {
	for _, algorithm := range checksumTypes {
		t.Run(string(algorithm), func(t *testing.T) {
			server := startServer(t)
			body := noise(1, 9_000)
			putSummed(t, server, "part-0", body, algorithm)
			putSummed(t, server, "part-1", []byte("next"), algorithm)
			objects, err := List(t.Context(), server.Client(), "s3://data/")
			require.NoError(t, err)
			wrong := through(server, func(r *http.Response) {
				if strings.HasSuffix(r.Request.URL.Path, "part-0") && r.Request.Method == http.MethodGet {
					r.Body = &flipping{r.Body, 4_321}
				}
			})
			for _, list := range []Objects{objects, {{Bucket: "data", Key: "part-0", Size: unknown}}} {
				got, err := io.ReadAll(openList(t, wrong, list, small))
				failed := &ObjectError{}
				require.ErrorAs(t, err, &failed)
				require.ErrorIs(t, err, ErrChecksum)
				require.Equal(t, "part-0", failed.Key)
				require.False(t, failed.ClientError())
				require.Less(t, len(got), 9_000)
			}
		})
	}
}

func TestChecksumThatIsWrongInS3IsAnError(t *testing.T) {
	server := startServer(t)
	putSummed(t, server, "part-0", noise(1, 35_000), types.ChecksumAlgorithmCrc32)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	wrong := through(server, func(r *http.Response) {
		if r.Request.Method == http.MethodHead {
			r.Header.Set("X-Amz-Checksum-Crc32", "AAAAAA==")
		}
	})
	for name, change := range map[string]func(o *Options){
		"bytes": func(*Options) {}, "lines": func(o *Options) { o.Lines = true }, "records": func(o *Options) { o.RecordIO = true },
	} {
		t.Run(name, func(t *testing.T) {
			_, err = io.ReadAll(openList(t, wrong, objects, small.with(change)))
			requireObjectError(t, err, "part-0", 35_000, ErrChecksum, false)
			require.ErrorContains(t, err, "S3 has AAAAAA==")
		})
	}
}

// A checksum of checksums says nothing of the bytes.
func TestChecksumsOfOtherKindsAreNotCompared(t *testing.T) {
	body := noise(1, 35_000)
	for name, out := range map[string]*s3.HeadObjectOutput{
		"none":            {},
		"composite":       {ChecksumCRC32: aws.String("AAAAAA=="), ChecksumType: types.ChecksumTypeComposite},
		"of parts":        {ChecksumSHA256: aws.String("AAAAAA==-4")},
		"one we know not": {ETag: aws.String("x")},
	} {
		t.Run(name, func(t *testing.T) {
			client := &ram{objects: map[string][]byte{"a": body}, head: func(context.Context, *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) { return out, nil }}
			got, err := io.ReadAll(openList(t, client, client.list(client.sized, "a"), small))
			require.NoError(t, err)
			requireSame(t, body, got)
		})
	}
}

// The checksum is asked for of the object that was listed.
func TestChecksumIsThatOfTheListedObject(t *testing.T) {
	body := noise(1, 35_000)
	asked := make(chan *s3.HeadObjectInput, 1)
	client := &ram{objects: map[string][]byte{"a": body}, head: func(_ context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
		asked <- in
		return &s3.HeadObjectOutput{}, nil
	}}
	_, err := io.ReadAll(openList(t, client, client.list(client.sized, "a"), small))
	require.NoError(t, err)
	in := <-asked
	require.Equal(t, tagOf("a"), aws.ToString(in.IfMatch))
	require.Equal(t, types.ChecksumModeEnabled, in.ChecksumMode)
}

func TestAHeadThatFailsDoesNotFailTheStream(t *testing.T) {
	server := startServer(t)
	body := noise(1, 35_000)
	putSummed(t, server, "part-0", body, types.ChecksumAlgorithmSha256)
	client := server.Client(func(o *s3.Options) { o.Retryer = aws.NopRetryer{} }) // whose pauses are long
	objects, err := List(t.Context(), client, "s3://data/")
	require.NoError(t, err)
	for name, fault := range map[string]s3test.Fault{
		"forbidden": {Status: 403, Code: "AccessDenied"}, "broken": {Status: 501, Code: "NotImplemented"}, "gone": {Status: 404, Code: "NoSuchKey"}, "cut": {Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			server.SetFault(func(r *http.Request) *s3test.Fault {
				if r.Method == http.MethodHead {
					return &fault
				}
				return nil
			})
			got, err := io.ReadAll(openList(t, client, objects, small))
			require.NoError(t, err)
			requireSame(t, body, got)
		})
	}
}

func TestAHeadThatStallsDoesNotFailTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := noise(1, 35_000)
		client := &ram{objects: map[string][]byte{"a": body}, head: func(ctx context.Context, _ *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		began := time.Now()
		stream := openList(t, client, client.list(client.sized, "a"), small)
		defer stream.Close()
		got, err := io.ReadAll(stream)
		require.NoError(t, err)
		requireSame(t, body, got)
		require.LessOrEqual(t, time.Since(began), 30*time.Second, "the default of Idle")
	})
}

func TestAHeadThatStallsEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &ram{objects: map[string][]byte{"a": noise(1, 35_000)}, head: func(ctx context.Context, _ *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		ctx, cancel := context.WithCancelCause(t.Context())
		stream, err := NewSource(client, client.list(client.sized, "a"), small).Open(ctx, 0)
		require.NoError(t, err)
		defer stream.Close()
		cause := errors.New("the job was stopped")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		_, err = io.ReadAll(stream)
		require.Equal(t, cause, err)
	})
}

// corrupting flips a bit of the first answers.
type corrupting struct {
	Client
	answers atomic.Int64 // still to be corrupted
	asked   atomic.Int64
}

func (c *corrupting) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	out, err := c.Client.GetObject(ctx, in, opts...)
	c.asked.Add(1)
	if err == nil && c.answers.Add(-1) >= 0 {
		body, err := io.ReadAll(out.Body)
		if err != nil {
			return nil, err
		}
		body[len(body)/2] ^= 1
		out.Body = io.NopCloser(iotest.HalfReader(bytes.NewReader(body)))
	}
	return out, err
}

func TestAnObjectThatFitsIsAskedForAgainIfItIsNotWhatItsChecksumSays(t *testing.T) {
	server := startServer(t)
	want := bytes.Repeat([]byte("checked "), 100_000) // several blocks
	_, err := server.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("data"), Key: aws.String("part"), Body: bytes.NewReader(want), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	require.NoError(t, err)
	for corrupt, asked := range map[int64]int64{0: 1, 1: 2, 2: 3, 3: 3, 100: 3} {
		client := &corrupting{Client: server.Client()}
		client.answers.Store(corrupt)
		stream, err := NewSource(client, listed(t, server), Options{}).Open(t.Context(), 0)
		require.NoError(t, err)
		got, err := io.ReadAll(stream)
		require.NoError(t, stream.Close())
		require.Equal(t, asked, client.asked.Load(), "%d corrupt answers", corrupt)
		if corrupt < 3 {
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
			continue
		}
		require.ErrorIs(t, err, ErrChecksum)
		require.ErrorContains(t, err, "s3://data/part at byte ")
		require.Empty(t, got, "nothing unverified was delivered")
	}
}
