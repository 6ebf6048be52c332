package fastfile_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(childTask); task != "" {
		os.Exit(child(task))
	}
	leaks.Main(m)
}

// A world is a server, and what lies in the bucket "data" on it.
type world struct {
	*s3test.Server
	files []s3stream.File
	bytes map[string][]byte // by path
}

func newWorld(tb testing.TB) *world {
	server := s3test.New()
	tb.Cleanup(func() { require.NoError(tb, server.Close()) })
	require.NoError(tb, server.CreateBucket("data"))
	return &world{Server: server, bytes: map[string][]byte{}}
}

// put stores random bytes at a path, below the prefix "train/".
func (w *world) put(tb testing.TB, path string, size int) {
	content := noise(size)
	w.bytes[path] = content
	require.NoError(tb, w.Put("data", "train/"+path, bytes.NewReader(content)))
}

// list lists what was put.
func (w *world) list(tb testing.TB) []s3stream.File {
	objects, err := s3stream.List(tb.Context(), w.Client(), "s3://data/train/")
	require.NoError(tb, err)
	w.files = nil
	for _, o := range objects {
		w.files = append(w.files, s3stream.File{Path: strings.TrimPrefix(o.Key, "train/"), Object: o})
	}
	return w.files
}

// mount mounts what was put and returns where.
func (w *world) mount(tb testing.TB, opts fastfile.Options) (*fastfile.FS, string) {
	testenv.FUSE(tb)
	dir := tb.TempDir()
	f, err := fastfile.Mount(tb.Context(), dir, w.Client(), w.list(tb), opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, f.Close()) })
	return f, dir
}

// open makes what was put a file system in the process.
func (w *world) open(tb testing.TB, opts fastfile.Options) *fastfile.FS {
	f, err := fastfile.New(tb.Context(), w.Client(), w.list(tb), opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, f.Close()) })
	return f
}

// noise returns bytes of which no two places look alike.
func noise(size int) []byte {
	seed := [32]byte{byte(size), byte(size >> 8), byte(size >> 16)}
	content := make([]byte, size)
	rand.NewChaCha8(seed).Read(content)
	return content
}

// hasty has what fails fail soon.
var hasty = s3stream.Options{Tries: 3, MaxBackoff: time.Millisecond, Idle: time.Minute}
