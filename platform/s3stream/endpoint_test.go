package s3stream_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// A bucket is an empty one of its own on the S3 server under test: the one that testenv.S3 names
// or, where none is given, s3test in this process.
type bucket struct {
	name     string
	endpoint string
	ours     bool // the server is s3test
	config   aws.Config
	client   *s3.Client // of the server itself
	idle     func()     // closes the client's idle connections
}

// newBucket makes a bucket. The test's end empties and removes it.
func newBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{name: "algospec-" + strings.ToLower(rand.Text())[:12], endpoint: testenv.S3(t)}
	if b.endpoint == "" {
		server := s3test.New()
		t.Cleanup(func() { server.Close() })
		b.ours, b.endpoint, b.config = true, server.URL, server.Config()
	} else {
		loaded, err := config.LoadDefaultConfig(t.Context())
		require.NoError(t, err)
		b.config = loaded
	}
	transport := newTransport()
	t.Cleanup(transport.CloseIdleConnections)
	b.idle = transport.CloseIdleConnections
	b.client = b.clientOf(b.endpoint, transport)
	_, err := b.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b.name})
	require.NoError(t, err)
	t.Cleanup(func() { b.remove(t) })
	return b
}

// newTransport returns one whose connections the caller closes.
func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 64}
}

// clientOf returns a client of the server by way of a URL, which may be a proxy's.
func (b *bucket) clientOf(url string, transport *http.Transport, options ...func(*s3.Options)) *s3.Client {
	there := func(o *s3.Options) {
		o.BaseEndpoint = &url // in a Config, AWS_ENDPOINT_URL_S3 would override it
		o.HTTPClient = &http.Client{Transport: transport}
		o.UsePathStyle = true
	}
	return s3.NewFromConfig(b.config, append([]func(*s3.Options){there}, options...)...)
}

func (b *bucket) put(ctx context.Context, key string, body []byte, options ...func(*s3.PutObjectInput)) error {
	in := &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(body)}
	for _, option := range options {
		option(in)
	}
	_, err := b.client.PutObject(ctx, in)
	return err
}

func (b *bucket) delete(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key})
	return err
}

func (b *bucket) list(t *testing.T, prefix string) s3stream.Objects {
	t.Helper()
	objects, err := s3stream.List(t.Context(), b.client, "s3://"+b.name+"/"+prefix)
	require.NoError(t, err)
	return objects
}

// remove works when the test is over, so its context is.
func (b *bucket) remove(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	objects, err := s3stream.List(ctx, b.client, "s3://"+b.name)
	if err != nil && !errors.Is(err, s3stream.ErrNoObjects) {
		t.Log(err)
	}
	for _, o := range objects {
		if err := b.delete(ctx, o.Key); err != nil {
			t.Log(err)
		}
	}
	if _, err := b.client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &b.name}); err != nil {
		t.Log(err)
	}
}

// stream reads one epoch of the objects.
func stream(t *testing.T, client s3stream.Client, objects s3stream.Objects, opts s3stream.Options) ([]byte, error) {
	t.Helper()
	epoch, err := s3stream.NewSource(client, objects, opts).Open(t.Context(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	return io.ReadAll(epoch)
}
