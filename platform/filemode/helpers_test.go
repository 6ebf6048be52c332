package filemode

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		child(url)
		return
	}
	leaks.Main(m)
}

// small makes several parts of little data.
var small = Options{PartSize: 10_000, Concurrency: 4, Stream: s3stream.Options{MaxBackoff: time.Millisecond}}

func startServer(t testing.TB) *s3test.Server {
	server := s3test.New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// impatient is a client that does not try again.
func impatient(server *s3test.Server) *s3.Client {
	return server.Client(func(o *s3.Options) { o.RetryMaxAttempts = 1 })
}

// A data set is the bytes of keys below s3://data/d/.
type dataSet map[string][]byte

// fill makes random bytes of these sizes, for files named for their size in
// folders of ten.
func fill(sizes ...int) dataSet {
	data, random := dataSet{}, rand.NewChaCha8([32]byte{1})
	for i, size := range sizes {
		body := make([]byte, size)
		random.Read(body)
		data[fmt.Sprintf("%d/%d-%d", i/10, i, size)] = body
	}
	return data
}

func (data dataSet) put(t testing.TB, server *s3test.Server) {
	for key, body := range data {
		require.NoError(t, server.Put("data", "d/"+key, bytes.NewReader(body)))
	}
}

func (data dataSet) size() (n int64) {
	for _, body := range data {
		n += int64(len(body))
	}
	return n
}

func layout(t testing.TB, server *s3test.Server) []s3stream.File {
	t.Helper()
	objects, err := s3stream.ListTree(t.Context(), server.Client(), "s3://data/d/")
	require.NoError(t, err)
	files, err := s3stream.Layout("s3://data/d/", objects)
	require.NoError(t, err)
	return files
}

// requireFiles checks that dir holds the data and, but for the folders, no more.
func requireFiles(t testing.TB, data dataSet, dir string) {
	t.Helper()
	got := dataSet{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		require.NoError(t, err)
		if entry.IsDir() {
			require.Equal(t, fs.FileMode(0o755), info.Mode().Perm(), name)
			return nil
		}
		require.Equal(t, fs.FileMode(0o644), info.Mode(), name)
		body, err := os.ReadFile(name)
		got[strings.TrimPrefix(name, dir+"/")] = body
		return err
	}))
	requireNames(t, data, got)
	for name, body := range data {
		require.True(t, bytes.Equal(body, got[name]), name)
	}
}

func requireNames(t testing.TB, want, got dataSet) {
	t.Helper()
	names := func(data dataSet) (names []string) {
		for name := range data {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	require.Equal(t, names(want), names(got))
}

// requireWholeFiles checks that what has a name in dir is one of the data's files.
func requireWholeFiles(t testing.TB, data dataSet, dir string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if name == workshop {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data[name], body), "%s has %d of %d bytes", name, len(body), len(data[name]))
		return nil
	}))
}

// faulty has requests for objects fail as fault says, of a key and how many there
// have been.
func faulty(server *s3test.Server, fault func(key string, n int) *s3test.Fault) {
	var mu sync.Mutex
	n := 0
	server.SetFault(func(r *http.Request) *s3test.Fault {
		key, ok := strings.CutPrefix(r.URL.Path, "/data/d/")
		if !ok {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		return fault(key, n)
	})
}

// A counter is a client that remembers the objects and ranges it is asked for.
// A server's list would hold what an earlier client sent last.
type counter struct {
	s3stream.Client
	mu   sync.Mutex
	gets []string // "key range"
}

func (c *counter) GetObject(ctx context.Context, in *s3.GetObjectInput, options ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	c.mu.Lock()
	c.gets = append(c.gets, strings.TrimPrefix(*in.Key, "d/")+" "+aws.ToString(in.Range))
	c.mu.Unlock()
	return c.Client.GetObject(ctx, in, options...)
}

// sorted returns the requests so far; nothing was asked for is an empty list.
func (c *counter) sorted() []string {
	slices.Sort(c.gets)
	return append([]string{}, c.gets...)
}
