package s3stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/internal/faultproxy"
	"github.com/algospec/algospec/platform/s3stream"
)

// The tests of this file hold for every S3 server. They run against s3test and, with .ci/s3-server
// before go test, against one that is not ours.

// small makes many requests of few bytes.
var small = s3stream.Options{PartSize: 1000, ReadAhead: 16 << 10, MaxBackoff: time.Millisecond}

func randomBytes(seed uint64, n int) []byte {
	body := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(body)
	return body
}

func keysOf(objects s3stream.Objects) []string {
	var keys []string
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys
}

func TestAListOfMoreThanAThousandKeysIsWholeAndInOrder(t *testing.T) {
	b := newBucket(t)
	var want []string
	var puts errgroup.Group
	puts.SetLimit(8)
	for i := range 1005 {
		key := fmt.Sprintf("many/%d", i)
		want = append(want, key)
		puts.Go(func() error { return b.put(t.Context(), key, []byte("x")) })
	}
	require.NoError(t, puts.Wait())
	slices.Sort(want)

	objects := b.list(t, "many/")
	require.Equal(t, want, keysOf(objects))
	require.EqualValues(t, len(want), objects.Size())
}

func TestOddKeysAreListedAndRead(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
	}{
		{"that are file names", []string{
			"a b", "a+b", "a%2Fb", "a&b=c", "a<b>c", `"quoted'`, "ключ/値/🐂", "tilde~and!", "a,b;c:d@e", "back\\slash", ".dot", "?x#y",
		}},
		{"that hold a newline", []string{"new\nline"}},
		{"whose order is not that of their folders", []string{"d-x", "d.x", "d/x", "d/y/z", "d0", "da"}},
		{"that are long", []string{strings.Repeat("k", 200) + "/" + strings.Repeat("l", 200)}},
		{"that are prefixes of others", []string{"n", "n/m", "n/m/l"}},
		{"that are no clean paths", []string{"/x", "x//y", "y/", "./z", "z/../z"}},
		{"that XML cannot hold", []string{"\x01\x1f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBucket(t)
			for _, key := range c.keys {
				if err := b.put(t.Context(), key, []byte("of "+key)); err != nil && !b.ours {
					t.Skipf("the server does not take %q: %v", key, err)
				} else {
					require.NoError(t, err, "%q", key)
				}
			}
			slices.Sort(c.keys)
			objects := b.list(t, "")
			if !b.ours && strings.Contains(strings.Join(keysOf(objects), ""), "\uFFFD") {
				t.Skip("the server does not heed encoding-type=url")
			}
			require.Equal(t, c.keys, keysOf(objects))
			for i := range objects {
				got, err := stream(t, b.client, objects[i:i+1], s3stream.Options{})
				require.NoError(t, err)
				require.Equal(t, "of "+objects[i].Key, string(got))
			}
		})
	}
}

func TestAPrefixIsAPlainString(t *testing.T) {
	b := newBucket(t)
	for _, key := range []string{"a/1", "a/2", "ab", "b/1", "c"} {
		require.NoError(t, b.put(t.Context(), key, []byte(key)))
	}
	for prefix, want := range map[string][]string{
		"":     {"a/1", "a/2", "ab", "b/1", "c"},
		"a":    {"a/1", "a/2", "ab"},
		"a/":   {"a/1", "a/2"},
		"ab":   {"ab"},
		"b/1":  {"b/1"},
		"a/1/": nil,
		"d":    nil,
	} {
		objects, err := s3stream.List(t.Context(), b.client, "s3://"+b.name+"/"+prefix)
		require.Equal(t, want, keysOf(objects), "prefix %q", prefix)
		require.Equal(t, want == nil, errors.Is(err, s3stream.ErrNoObjects), "prefix %q: %v", prefix, err)
	}
}

func TestABucketThatDoesNotExistIsTheUsersError(t *testing.T) {
	b := newBucket(t)
	_, err := s3stream.List(t.Context(), b.client, "s3://"+b.name+"-not/x")
	var place *s3stream.ListError
	require.ErrorAs(t, err, &place)
	require.True(t, place.ClientError(), "%v", err)
}

func TestBytesAreTheSameHoweverTheyAreCut(t *testing.T) {
	b := newBucket(t)
	var want []byte
	for i, size := range []int{0, 1, 999, 1000, 1001, 54_321} {
		body := randomBytes(uint64(i), size)
		want = append(want, body...)
		require.NoError(t, b.put(t.Context(), fmt.Sprintf("part-%d", i), body))
	}
	objects := b.list(t, "")
	for _, opts := range []s3stream.Options{{}, small, {PartSize: 7777, Concurrency: 1}, {ReadAhead: 20_000, PartSize: 10_000}} {
		got, err := stream(t, b.client, objects, opts)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%+v", opts)
	}
}

func TestARangeIsItsBytes(t *testing.T) {
	b := newBucket(t)
	body := randomBytes(1, 5000)
	require.NoError(t, b.put(t.Context(), "key", body))
	object := b.list(t, "")[0]
	for _, c := range []struct{ from, to int64 }{{0, 5000}, {0, 1}, {4999, 5000}, {1234, 4321}, {77, 77}} {
		r := s3stream.OpenRange(t.Context(), b.client, object, c.from, c.to, s3stream.Options{})
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body[c.from:c.to], got), "bytes %d to %d", c.from, c.to)
		require.NoError(t, r.Close())
	}
}

func TestAnUploadInPartsIsReadAsAny(t *testing.T) {
	b := newBucket(t)
	parts := [][]byte{randomBytes(1, 5<<20), randomBytes(2, 1234)} // 5 MiB is the least for all but the last
	upload, err := b.client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{
		Bucket: &b.name, Key: aws.String("key"), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	require.NoError(t, err)
	var completed types.CompletedMultipartUpload
	for i, body := range parts {
		number := aws.Int32(int32(i + 1))
		part, err := b.client.UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: &b.name, Key: upload.Key, UploadId: upload.UploadId, PartNumber: number, Body: bytes.NewReader(body),
		})
		require.NoError(t, err)
		completed.Parts = append(completed.Parts, types.CompletedPart{
			PartNumber: number, ETag: part.ETag, ChecksumCRC32: part.ChecksumCRC32,
		})
	}
	_, err = b.client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
		Bucket: &b.name, Key: upload.Key, UploadId: upload.UploadId, MultipartUpload: &completed,
	})
	require.NoError(t, err)
	for _, opts := range []s3stream.Options{{PartSize: 8 << 20}, {PartSize: 1 << 20}} {
		got, err := stream(t, b.client, b.list(t, ""), opts)
		require.NoError(t, err)
		require.True(t, bytes.Equal(slices.Concat(parts...), got), "%+v", opts)
	}
}

func TestEpochsDoNotDiffer(t *testing.T) {
	b := newBucket(t)
	body := randomBytes(1, 30_000)
	require.NoError(t, b.put(t.Context(), "key", body))
	source := s3stream.NewSource(b.client, b.list(t, ""), small)
	var epochs errgroup.Group
	for i := range 3 { // at a time
		epochs.Go(func() error {
			epoch, err := source.Open(t.Context(), i)
			if err != nil {
				return err
			}
			defer epoch.Close()
			got, err := io.ReadAll(epoch)
			if err == nil && !bytes.Equal(body, got) {
				err = fmt.Errorf("epoch %d is not the object", i)
			}
			return err
		})
	}
	require.NoError(t, epochs.Wait())
}

func TestAnObjectThatIsNotAsListedEndsTheStream(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(context.Context, *bucket) error
		want   error
	}{
		{"replaced by as many bytes", func(ctx context.Context, b *bucket) error { return b.put(ctx, "b", randomBytes(9, 3000)) }, s3stream.ErrChanged},
		{"replaced by more", func(ctx context.Context, b *bucket) error { return b.put(ctx, "b", randomBytes(9, 4000)) }, s3stream.ErrChanged},
		{"replaced by fewer", func(ctx context.Context, b *bucket) error { return b.put(ctx, "b", randomBytes(9, 10)) }, s3stream.ErrChanged},
		{"replaced by none", func(ctx context.Context, b *bucket) error { return b.put(ctx, "b", nil) }, s3stream.ErrChanged},
		{"deleted", func(ctx context.Context, b *bucket) error { return b.delete(ctx, "b") }, s3stream.ErrVanished},
	} {
		for _, opts := range []s3stream.Options{small, {}} {
			t.Run(fmt.Sprintf("%s, parts of %d", c.name, opts.PartSize), func(t *testing.T) {
				b := newBucket(t)
				first := randomBytes(1, 3000)
				require.NoError(t, b.put(t.Context(), "a", first))
				require.NoError(t, b.put(t.Context(), "b", randomBytes(2, 3000)))
				objects := b.list(t, "")
				require.NoError(t, c.change(t.Context(), b))

				got, err := stream(t, b.client, objects, opts)
				require.ErrorIs(t, err, c.want)
				var place *s3stream.ObjectError
				require.ErrorAs(t, err, &place)
				require.Equal(t, s3stream.ObjectError{Bucket: b.name, Key: "b", Offset: 0, Err: place.Err}, *place)
				require.True(t, place.ClientError())
				require.True(t, bytes.Equal(first, got))
			})
		}
	}
}

func TestAWrongByteIsFoundByTheChecksum(t *testing.T) {
	for _, algorithm := range []types.ChecksumAlgorithm{
		types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmCrc64nvme,
		types.ChecksumAlgorithmSha1, types.ChecksumAlgorithmSha256,
	} {
		t.Run(string(algorithm), func(t *testing.T) {
			b := newBucket(t)
			body := randomBytes(1, 3000)
			err := b.put(t.Context(), "key", body, func(in *s3.PutObjectInput) { in.ChecksumAlgorithm = algorithm })
			if err != nil && !b.ours {
				t.Skipf("the server does not take it: %v", err)
			}
			require.NoError(t, err)
			objects := b.list(t, "")
			got, err := stream(t, b.client, objects, s3stream.Options{})
			require.NoError(t, err)
			require.True(t, bytes.Equal(body, got))

			proxy, client := b.behindProxy(t, faultproxy.Options{Rate: 1, Faults: []faultproxy.Fault{faultproxy.FlipByte}})
			_, err = stream(t, client, objects, s3stream.Options{})
			if len(proxy.Log()) == 0 && !b.ours {
				t.Skip("the server returns no checksum")
			}
			require.ErrorIs(t, err, s3stream.ErrChecksum)
		})
	}
}

func TestAStreamGoesOnFromTheByteWhereItBroke(t *testing.T) {
	b := newBucket(t)
	body := randomBytes(1, 50_000)
	require.NoError(t, b.put(t.Context(), "key", body))
	proxy, client := b.behindProxy(t, faultproxy.Options{Rate: 0.5, Faults: []faultproxy.Fault{faultproxy.CutBody}})
	opts := small
	opts.PartSize, opts.Tries = 10_000, 100
	got, err := stream(t, client, b.list(t, ""), opts)
	require.NoError(t, err)
	require.True(t, bytes.Equal(body, got))

	log := proxy.Log()
	require.NotEmpty(t, log)
	for i, e := range log[:len(log)-1] {
		var from, to int64
		_, err := fmt.Sscanf(e.Range, "bytes=%d-%d", &from, &to)
		require.NoError(t, err)
		again := fmt.Sprintf("bytes=%d-%d", from+e.At, to)
		for _, later := range log[i+1:] { // that failed too
			if strings.HasSuffix(later.Range, fmt.Sprintf("-%d", to)) {
				require.Equal(t, again, later.Range, "after %v", e)
				break
			}
		}
	}
}

func TestKeysThatAreRefusedAreTheUsersError(t *testing.T) {
	b := newBucket(t)
	require.NoError(t, b.put(t.Context(), "key", []byte("x")))
	objects := b.list(t, "")
	wrong := func(o *s3.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "algospec", SecretAccessKey: "wrong"}, nil
		})
	}
	transport := newTransport()
	defer transport.CloseIdleConnections()
	_, err := stream(t, b.clientOf(b.endpoint, transport, wrong), objects, small)
	if err == nil {
		t.Skip("the server does not check signatures")
	}
	var place *s3stream.ObjectError
	require.ErrorAs(t, err, &place)
	require.True(t, place.ClientError(), "%v", err)
}

// behindProxy returns a client of the bucket's server by way of a proxy.
func (b *bucket) behindProxy(t *testing.T, opts faultproxy.Options) (*faultproxy.Proxy, *s3.Client) {
	t.Helper()
	proxy := faultproxy.New(b.endpoint, 1, opts)
	t.Cleanup(proxy.Close)
	transport := newTransport()
	t.Cleanup(transport.CloseIdleConnections)
	return proxy, b.clientOf(proxy.URL, transport)
}
