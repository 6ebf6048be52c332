package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// start returns a server with the bucket data and a client that tries once.
func startTest(t testing.TB) (*Server, *s3.Client) {
	server := New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	require.NoError(t, server.CreateBucket("data"))
	return server, server.Client(func(o *s3.Options) { o.RetryMaxAttempts = 1 })
}

func put(t testing.TB, server *Server, keys ...string) {
	for _, key := range keys {
		require.NoError(t, server.Put("data", key, strings.NewReader("body of "+key)))
	}
}

func get(ctx context.Context, client *s3.Client, in *s3.GetObjectInput) (string, *s3.GetObjectOutput, error) {
	in.Bucket = aws.String("data")
	out, err := client.GetObject(ctx, in)
	if err != nil {
		return "", nil, err
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	return string(body), out, err
}

func requireAPIError(t testing.TB, err error, status int, code string) {
	t.Helper()
	var response *awshttp.ResponseError
	require.ErrorAs(t, err, &response)
	require.Equal(t, status, response.HTTPStatusCode())
	var api smithy.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, code, api.ErrorCode())
}

func TestEveryLegalKeyIsItsOwnObject(t *testing.T) {
	server, client := startTest(t)
	keys := []string{
		"a", "a/b", "a//b", "a/", "/a", "../x", "./y", "a/../b", "..", "with space", "plus+sign", "per%2Fcent", "q?x=y&z",
		"#hash", "tilde~", "ünïcode/日本語/🙂", "quote\"'<&>", "back\\slash", "line\nbreak", strings.Repeat("k", 1024),
	}
	for _, key := range keys {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: aws.String("data"), Key: aws.String(key), Body: strings.NewReader("body of " + key),
		})
		require.NoError(t, err, key)
	}
	for _, key := range keys {
		body, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String(key)})
		require.NoError(t, err, key)
		require.Equal(t, "body of "+key, body)
	}
	slices.Sort(keys)
	require.Equal(t, keys, list(t, client, s3.ListObjectsV2Input{}))

	require.NoError(t, server.CreateBucket("other"))
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("data"), Key: aws.String(strings.Repeat("k", 1025)), Body: strings.NewReader(""),
	})
	requireAPIError(t, err, 400, "KeyTooLongError")
}

func TestRangesAndConditions(t *testing.T) {
	server, client := startTest(t)
	require.NoError(t, server.Put("data", "digits", strings.NewReader("0123456789")))
	require.NoError(t, server.Put("data", "empty", strings.NewReader("")))

	for ranged, want := range map[string]string{
		"bytes=0-0": "0", "bytes=3-5": "345", "bytes=7-": "789", "bytes=-2": "89", "bytes=8-100": "89", "bytes=-50": "0123456789",
		"bytes=5-2": "0123456789", "bytes=0-1,4-5": "0123456789", "bytes=a-b": "0123456789",
	} {
		body, out, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("digits"), Range: aws.String(ranged)})
		require.NoError(t, err, ranged)
		require.Equal(t, want, body, ranged)
		require.EqualValues(t, len(want), *out.ContentLength)
	}
	for _, key := range []string{"digits", "empty"} {
		_, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String(key), Range: aws.String("bytes=10-")})
		requireAPIError(t, err, 416, "InvalidRange")
	}

	head, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("data"), Key: aws.String("digits")})
	require.NoError(t, err)
	require.Equal(t, `"781e5e245d69b566979b86e28d23f2c7"`, *head.ETag) // md5sum
	require.EqualValues(t, 10, *head.ContentLength)

	body, out, err := get(t.Context(), client, &s3.GetObjectInput{
		Key: aws.String("digits"), IfMatch: head.ETag, Range: aws.String("bytes=4-5"),
	})
	require.NoError(t, err)
	require.Equal(t, "45", body)
	require.Equal(t, "bytes 4-5/10", *out.ContentRange)

	_, _, err = get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("digits"), IfMatch: aws.String(`"other"`)})
	requireAPIError(t, err, 412, "PreconditionFailed")
	_, _, err = get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("digits"), IfNoneMatch: head.ETag})
	require.ErrorContains(t, err, "304")
	_, _, err = get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("missing")})
	requireAPIError(t, err, 404, "NoSuchKey")
	_, err = client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("data"), Key: aws.String("missing")})
	requireAPIError(t, err, 404, "NotFound")
	_, err = client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("nobucket"), Key: aws.String("x")})
	requireAPIError(t, err, 404, "NoSuchBucket")

	for name, in := range map[string]*s3.PutObjectInput{
		"none there": {Key: aws.String("digits"), IfNoneMatch: aws.String("*")},
		"still that": {Key: aws.String("digits"), IfMatch: aws.String(`"other"`)},
	} {
		in.Bucket, in.Body = aws.String("data"), strings.NewReader("new")
		_, err := client.PutObject(t.Context(), in)
		requireAPIError(t, err, 412, "PreconditionFailed")
		body, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("digits")})
		require.NoError(t, err)
		require.Equal(t, "0123456789", body, name)
	}
}

func TestMetadataAndChecksumsComeBack(t *testing.T) {
	_, client := startTest(t)
	for _, algorithm := range types.ChecksumAlgorithmCrc32.Values() {
		switch algorithm {
		case types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmCrc64nvme,
			types.ChecksumAlgorithmSha1, types.ChecksumAlgorithmSha256:
		default:
			continue // newer than this server
		}
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: aws.String("data"), Key: aws.String("k"), Body: strings.NewReader("some bytes"), ChecksumAlgorithm: algorithm,
			ContentType: aws.String("text/csv"), ContentEncoding: aws.String("gzip"), Metadata: map[string]string{"owner": "me"},
		})
		require.NoError(t, err, algorithm)
		body, out, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("k")})
		require.NoError(t, err, algorithm) // the SDK has verified the checksum
		require.Equal(t, "some bytes", body)
		require.Equal(t, []string{"text/csv", "gzip", "me"}, []string{*out.ContentType, *out.ContentEncoding, out.Metadata["owner"]})
		sent := aws.ToString(out.ChecksumCRC32) + aws.ToString(out.ChecksumCRC32C) + aws.ToString(out.ChecksumCRC64NVME) +
			aws.ToString(out.ChecksumSHA1) + aws.ToString(out.ChecksumSHA256)
		require.NotEmpty(t, sent, algorithm)
	}
}

func TestDeleteAndCopy(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "a", "b", "c", "d+ e")
	_, err := client.CopyObject(t.Context(), &s3.CopyObjectInput{
		Bucket: aws.String("data"), Key: aws.String("copy"), CopySource: aws.String("data/d%2B%20e"),
	})
	require.NoError(t, err)
	_, err = client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("data"), Key: aws.String("d+ e")})
	require.NoError(t, err)
	_, err = client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("data"), Key: aws.String("never was")})
	require.NoError(t, err)
	out, err := client.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String("data"), Delete: &types.Delete{
		Objects: []types.ObjectIdentifier{{Key: aws.String("a")}, {Key: aws.String("c")}},
	}})
	require.NoError(t, err)
	require.Len(t, out.Deleted, 2)
	require.Equal(t, []string{"b", "copy"}, list(t, client, s3.ListObjectsV2Input{}))
	body, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("copy")})
	require.NoError(t, err)
	require.Equal(t, "body of d+ e", body)
}

func TestBuckets(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "a")
	_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("second")})
	require.NoError(t, err)
	_, err = client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("second")})
	requireAPIError(t, err, 409, "BucketAlreadyOwnedByYou")
	require.Error(t, server.CreateBucket("../../etc"))
	out, err := client.ListBuckets(t.Context(), &s3.ListBucketsInput{})
	require.NoError(t, err)
	require.Equal(t, []string{"data", "second"}, []string{*out.Buckets[0].Name, *out.Buckets[1].Name})
	_, err = client.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String("data")})
	requireAPIError(t, err, 409, "BucketNotEmpty")
	_, err = client.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String("second")})
	require.NoError(t, err)
	_, err = client.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("second")})
	requireAPIError(t, err, 404, "NotFound")
	_, err = client.GetBucketLocation(t.Context(), &s3.GetBucketLocationInput{Bucket: aws.String("data")})
	require.NoError(t, err)
	_, err = client.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: aws.String("data")})
	requireAPIError(t, err, 501, "NotImplemented")
}

func TestMultipartUpload(t *testing.T) {
	server, client := startTest(t)
	seed := uint64(7)
	content := make([]byte, 3<<20)
	random := rand.NewChaCha8([32]byte{byte(seed)})
	random.Read(content)
	bucket, key := aws.String("data"), aws.String("big")
	created, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	require.NoError(t, err)
	var parts []types.CompletedPart
	for i, from := range []int{0, 1 << 20, 2 << 20} {
		number := aws.Int32(int32(2*i + 1)) // gaps are legal
		part, err := client.UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: bucket, Key: key, UploadId: created.UploadId, PartNumber: number, Body: bytes.NewReader(content[from : from+1<<20]),
		})
		require.NoError(t, err)
		parts = append(parts, types.CompletedPart{PartNumber: number, ETag: part.ETag})
	}
	complete := func(parts ...types.CompletedPart) (*s3.CompleteMultipartUploadOutput, error) {
		return client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
			Bucket: bucket, Key: key, UploadId: created.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
	}
	_, err = complete(parts[1], parts[0])
	requireAPIError(t, err, 400, "InvalidPartOrder")
	_, err = complete(types.CompletedPart{PartNumber: aws.Int32(9), ETag: parts[0].ETag})
	requireAPIError(t, err, 400, "InvalidPart")
	listed, err := client.ListParts(t.Context(), &s3.ListPartsInput{Bucket: bucket, Key: key, UploadId: created.UploadId})
	require.NoError(t, err)
	require.Len(t, listed.Parts, 3)
	done, err := complete(parts...)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(*done.ETag, `-3"`), *done.ETag)
	body, out, err := get(t.Context(), client, &s3.GetObjectInput{Key: key, IfMatch: done.ETag})
	require.NoError(t, err)
	require.True(t, body == string(content))
	require.Equal(t, *done.ETag, *out.ETag)
	body, out, err = get(t.Context(), client, &s3.GetObjectInput{Key: key, PartNumber: aws.Int32(2)})
	require.NoError(t, err)
	require.True(t, body == string(content[1<<20:2<<20]))
	require.EqualValues(t, 3, *out.PartsCount)
	_, err = complete(parts...)
	requireAPIError(t, err, 404, "NoSuchUpload")

	copied, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	require.NoError(t, err)
	_, err = client.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{
		Bucket: bucket, Key: key, UploadId: copied.UploadId, PartNumber: aws.Int32(1),
		CopySource: aws.String("data/big"), CopySourceRange: aws.String("bytes=5-9"),
	})
	require.NoError(t, err)
	_, err = client.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: bucket, Key: key, UploadId: copied.UploadId})
	require.NoError(t, err)
	left, err := os.ReadDir(server.store.incoming())
	require.NoError(t, err)
	require.Empty(t, left, "parts are gone")
}

func TestDirectoryOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		server, err := Start(Options{Dir: dir})
		require.NoError(t, err)
		put(t, server, fmt.Sprint("key", round))
		require.NoError(t, server.Close())
		require.NoError(t, server.Close(), "closing twice")
	}
	server, err := Start(Options{Dir: dir})
	require.NoError(t, err)
	defer server.Close()
	require.Equal(t, []string{"key0", "key1", "key2"}, list(t, server.Client(), s3.ListObjectsV2Input{}))
	body, _, err := get(t.Context(), server.Client(), &s3.GetObjectInput{Key: aws.String("key1")})
	require.NoError(t, err)
	require.Equal(t, "body of key1", body)
}

func TestReplacedObjectIsReadToItsEnd(t *testing.T) {
	server, client := startTest(t)
	old := strings.Repeat("old", 4<<20)
	require.NoError(t, server.Put("data", "k", strings.NewReader(old)))
	out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String("k")})
	require.NoError(t, err)
	defer out.Body.Close()
	require.NoError(t, server.Put("data", "k", strings.NewReader("new")))
	body, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	require.True(t, string(body) == old)
}

func TestBrokenPutLeavesNothing(t *testing.T) {
	server, _ := startTest(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/data/k", brokenReader{})
	require.NoError(t, err)
	request.ContentLength = 100
	_, err = (&http.Client{Transport: server.transport}).Do(request)
	require.ErrorContains(t, err, "broken")
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(server.store.incoming())
		return err == nil && len(left) == 0
	}, time.Minute, time.Millisecond)
	require.Zero(t, server.store.buckets["data"].objects.Len())
	require.NoError(t, server.Close())
	_, err = os.Stat(server.store.dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCloseLeavesNoDescriptor(t *testing.T) {
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here")
		}
		return len(entries)
	}
	use := func() {
		server, client := startTest(t)
		put(t, server, "a", "b")
		for _, key := range []string{"a", "b", "missing"} {
			get(t.Context(), client, &s3.GetObjectInput{Key: aws.String(key)})
		}
		require.NoError(t, server.Close())
	}
	use() // what the process opens once
	before := descriptors()
	for range 5 {
		use()
	}
	require.Eventually(t, func() bool { return descriptors() <= before }, time.Minute, time.Millisecond)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }
