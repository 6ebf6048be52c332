package checkpoints

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/faultproxy"
	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/s3stream"
)

func TestRestoreBringsWhatIsBelowThePrefixAndNoSiblings(t *testing.T) {
	server := startServer(t)
	for key, body := range map[string]string{
		"ckpt/step-1": "one", "ckpt/deep/er/step-2": "two", "ckpt/empty": "", "ckpt/tägliche Datei\n": "odd",
		"ckpt-old/step": "sibling", "ckpt2": "sibling", "ckpt": "its name is the prefix",
		"ckpt/x.sagemaker-uploading": "", "ckpt/x.sagemaker-uploaded": "", "ckpt/x.sagemaker-ignore": "half",
		"ckpt/tmp.sagemaker-ignore/part": "half", "ckpt/" + filemode.Reserved + "/record": "the downloader's",
	} {
		put(t, server, key, body)
	}
	for _, uri := range []string{"s3://data/ckpt", "s3://data/ckpt/"} {
		h := &host{t: t, dir: t.TempDir()}
		_, err := Restore(t.Context(), server.Client(), uri, h.dir, Options{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{
			"step-1": "one", "deep/er/step-2": "two", "empty": "", "tägliche Datei\n": "odd",
		}, h.files())
	}
}

func TestRestoreOfNothingIsAnEmptyDirectory(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir()+"/checkpoints", Options{})
	require.DirExists(t, h.dir)
	require.Empty(t, h.files())

	put(t, server, "ckpt/folder/", "")
	h = newHost(t, server.Client(), t.TempDir(), Options{})
	require.Empty(t, h.files(), "a folder alone is nothing, either")
}

func TestABucketAsAWholeCanHoldCheckpoints(t *testing.T) {
	server := startServer(t)
	put(t, server, "step", "one")
	h := &host{t: t, dir: t.TempDir()}
	m, err := Restore(t.Context(), server.Client(), "s3://data", h.dir, Options{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"step": "one"}, h.files())
	h.write("ckpt/next", "two")
	require.NoError(t, m.Final(t.Context()))
	require.Equal(t, map[string]string{"next": "two"}, objects(t, server.Client()))
}

func TestWhatCannotBeRestoredIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ uri, key, want string }{
		"no such bucket":         {"s3://nowhere/ckpt", "", "NoSuchBucket"},
		"no URI":                 {"/ckpt", "", "not of the form s3://bucket/prefix"},
		"a key that climbs":      {uri, "ckpt/../../etc/passwd", `has the element ".."`},
		"a key with a double //": {uri, "ckpt//x", "empty element"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t)
			if c.key != "" {
				put(t, server, c.key, "x")
			}
			m, err := Restore(t.Context(), server.Client(), c.uri, t.TempDir(), Options{})
			require.ErrorContains(t, err, c.want)
			require.Nil(t, m)
		})
	}
	server := startServer(t)
	put(t, server, "ckpt/../x", "x")
	_, err := Restore(t.Context(), server.Client(), uri, t.TempDir(), Options{})
	require.True(t, algospec.IsClientError(err))
}

// A racer deletes an object right after the first listing.
type racer struct {
	Client
	after func()
}

func (r *racer) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, o ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	out, err := r.Client.ListObjectsV2(ctx, in, o...)
	if r.after != nil {
		r.after()
		r.after = nil
	}
	return out, err
}

func TestAnotherHostThatPrunesOrWritesMeanwhileDoesNotFailTheRestore(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/step-1", "one")
	put(t, server, "ckpt/latest", "step-1")
	h := newHost(t, &racer{server.Client(), func() {
		_, err := server.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: new("data"), Key: new("ckpt/step-1")})
		require.NoError(t, err)
		put(t, server, "ckpt/latest", "step-2")
		put(t, server, "ckpt/step-2", "two")
	}}, t.TempDir(), Options{})
	require.Equal(t, map[string]string{"latest": "step-2", "step-2": "two"}, h.files())
}

func TestRestoreHealsWhatNetworksDo(t *testing.T) {
	server := startServer(t)
	want := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d/e", "f"} {
		want[name] = string(make([]byte, 100_000)) + name
		put(t, server, "ckpt/"+name, want[name])
	}
	proxy := faultproxy.New(server.URL, 7, faultproxy.Options{Rate: 0.4, Faults: faultproxy.Without(
		faultproxy.Replace, faultproxy.NoSuchHost, faultproxy.Silence, faultproxy.StallBody, faultproxy.ExpiredToken)})
	defer proxy.Close()
	client := server.Client(impatient, func(o *s3.Options) { o.BaseEndpoint = &proxy.URL })
	h := newHost(t, client, t.TempDir(), Options{Download: filemode.Options{
		PartSize: 30_000, Stream: s3stream.Options{Tries: 50, MaxBackoff: 1},
	}})
	require.Equal(t, want, h.files())
	require.NotEmpty(t, proxy.Log())
}
