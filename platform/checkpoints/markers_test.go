package checkpoints

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// marks returns which markers a file has.
func (h *host) marks(name string) (marks []string) {
	for _, suffix := range []string{uploading, uploaded} {
		if _, err := os.Lstat(h.path(name + suffix)); err == nil {
			marks = append(marks, suffix)
		}
	}
	return marks
}

func TestMarkersSayWhereAFileIs(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/restored", "x")
	client := &meddler{Client: server.Client()}
	h := newHost(t, client, t.TempDir(), Options{})
	var during [][]string
	client.before = func(key string) { during = append(during, h.marks(strings.TrimPrefix(key, "ckpt/"))) }

	h.write("step", "1")
	require.Empty(t, h.marks("step"))
	for range 2 { // a second version has the marks of the first
		h.write("step", "2")
		h.look()
		require.Equal(t, [][]string{{uploading}}, during)
		require.Equal(t, []string{uploaded}, h.marks("step"))
		during = nil
	}
	h.look()
	require.Equal(t, []string{uploaded}, h.marks("step"))
	require.Empty(t, h.marks("restored"), "nothing keeps the algorithm from deleting it")

	h.remove("step") // as it may, and leaves the marker
	h.look()
	require.Empty(t, h.marks("step"))
	require.Equal(t, map[string]string{"restored": "x"}, objects(t, client))
}

func TestAFileThatCouldNotBeStoredHasNoMarker(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{})
	h.write("step", "1")
	h.look()
	count(server, func(string, string) *s3test.Fault { return &s3test.Fault{Status: 403, Code: "AccessDenied"} })
	h.write("step", "2")
	h.look()
	require.Empty(t, h.marks("step"), "uploaded was the other version")
}

// An algorithm that prunes by the markers, as XGBoost's does, loses nothing.
func TestMarkersOfTheAlgorithmsOwnDoNoHarm(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	outside := t.TempDir() + "/outside"
	h.write("a", "1")
	require.NoError(t, os.Symlink(outside, h.path("a"+uploading)))
	h.write("b", "1")
	require.NoError(t, os.MkdirAll(h.path("b"+uploading)+"/full", 0o755))
	long := strings.Repeat("n", 255)
	h.write(long, "1")
	h.final()
	require.Equal(t, map[string]string{"a": "1", "b": "1", long: "1"}, objects(t, server.Client()))
	require.NoFileExists(t, outside)
}
