package s3stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

func keysOf(objects []Object) (keys []string) {
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys
}

func TestListTakesThePrefixAsAString(t *testing.T) {
	server := startServer(t)
	for _, key := range []string{"a", "a/b", "a//b", "ab", "a+b c%20d", "a\x01b", "b", "../x", "日本", "mark/", "mark/x"} {
		require.NoError(t, server.Put("data", key, strings.NewReader(strings.TrimSuffix(key, "mark/"))))
	}
	for uri, want := range map[string][]string{
		"s3://data/a":     {"a", "a\x01b", "a+b c%20d", "a//b", "a/b", "ab"},
		"s3://data/a/":    {"a//b", "a/b"},
		"s3://data/a+b c": {"a+b c%20d"},
		"s3://data/日":     {"日本"},
		"s3://data/mark/": {"mark/x"},
		"s3://data":       {"../x", "a", "a\x01b", "a+b c%20d", "a//b", "a/b", "ab", "b", "mark/x", "日本"},
		"s3://data/":      {"../x", "a", "a\x01b", "a+b c%20d", "a//b", "a/b", "ab", "b", "mark/x", "日本"},
	} {
		objects, err := List(t.Context(), server.Client(), uri)
		require.NoError(t, err, uri)
		require.Equal(t, want, keysOf(objects), uri)
	}
	objects, err := List(t.Context(), server.Client(), "s3://data/ab")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), objects[0].LastModified, time.Minute)
	objects[0].LastModified = time.Time{}
	require.Equal(t, Objects{{Bucket: "data", Key: "ab", ETag: `"187ef4436122d1cc2f40dc2b92f0eba0"`, Size: 2}}, objects)
}

func TestListGoesThroughAllPages(t *testing.T) {
	server := startServer(t)
	var want []string
	for i := range 1_100 {
		key := fmt.Sprintf("k%05d", i)
		want = append(want, key)
		require.NoError(t, server.Put("data", key, strings.NewReader("x")))
	}
	objects, err := List(t.Context(), server.Client(), "s3://data/k")
	require.NoError(t, err)
	require.Equal(t, want, keysOf(objects))
}

func TestListFailures(t *testing.T) {
	server := startServer(t)
	require.NoError(t, server.Put("data", "folder/", strings.NewReader("")))
	for uri, want := range map[string]string{
		"s3://data/none":     `No S3 objects found under S3 URL "s3://data/none" given in input data source.`,
		"s3://data/folder/":  `No S3 objects found under S3 URL "s3://data/folder/" given in input data source.`,
		"s3://nobucket/x":    "list s3://nobucket/x: ",
		"http://data/x":      "list http://data/x: not of the form s3://bucket/prefix",
		"s3://":              "list s3://: not of the form s3://bucket/prefix",
		"s3:///no-bucket":    "list s3:///no-bucket: not of the form s3://bucket/prefix",
		"data/without/colon": "list data/without/colon: not of the form s3://bucket/prefix",
	} {
		_, err := List(t.Context(), impatient(server), uri)
		var failed *ListError
		require.ErrorAs(t, err, &failed, uri)
		require.True(t, strings.HasPrefix(err.Error(), want), err.Error())
		require.True(t, failed.ClientError(), uri)
		require.Equal(t, strings.HasPrefix(want, "No S3"), errors.Is(err, ErrNoObjects))
	}
	server.SetFault(func(*http.Request) *s3test.Fault { return &s3test.Fault{Status: 500, Code: "InternalError"} })
	_, err := List(t.Context(), impatient(server), "s3://data/")
	var failed *ListError
	require.ErrorAs(t, err, &failed)
	require.False(t, failed.ClientError())

	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = List(ctx, impatient(server), "s3://data/")
	require.Equal(t, cause, err)
}

// impatient is a client whose retries do not make a test wait.
func impatient(server *s3test.Server) *s3.Client {
	return server.Client(func(o *s3.Options) { o.RetryMaxAttempts = 1 })
}
