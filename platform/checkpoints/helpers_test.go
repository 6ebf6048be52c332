package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
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

const uri = "s3://data/ckpt"

// requirer is what tests and rapid's properties have in common.
type requirer interface {
	require.TestingT
	Helper()
	Context() context.Context
}

func startServer(t testing.TB) *s3test.Server {
	server := s3test.New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	require.NoError(t, server.CreateBucket("data"))
	return server
}

// A host is a directory and its mirror, whose looks the test takes itself.
type host struct {
	t      requirer
	dir    string
	client Client
	mirror *Mirror
	log    *lockedBuffer
	writes int
}

// newHost restores what the client's server has into dir.
func newHost(t requirer, client Client, dir string, opts Options) *host {
	t.Helper()
	h := &host{t: t, dir: dir, client: client, log: &lockedBuffer{}}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(h.log, nil))
	}
	var err error
	h.mirror, err = Restore(t.Context(), client, uri, dir, opts)
	require.NoError(t, err)
	return h
}

// impatient does not try again.
func impatient(o *s3.Options) { o.RetryMaxAttempts = 1 }

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

// write writes a file in place. Each has a time of its own, long ago, so that nothing waits for it to be quiet.
func (h *host) write(name, content string) {
	h.t.Helper()
	require.NoError(h.t, os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	require.NoError(h.t, os.WriteFile(h.path(name), []byte(content), 0o644))
	h.age(name)
}

func (h *host) age(name string) {
	h.t.Helper()
	h.writes++
	when := time.Now().Add(-time.Hour).Add(time.Duration(h.writes) * time.Second)
	require.NoError(h.t, os.Chtimes(h.path(name), when, when))
}

func (h *host) remove(name string) {
	h.t.Helper()
	require.NoError(h.t, os.RemoveAll(h.path(name)))
}

// look does what Run does in an interval, to the end.
func (h *host) look() {
	h.mirror.scan()
	h.mirror.storeChanged(h.t.Context(), false)
	h.mirror.workers.Wait()
	h.mirror.deleteGone(h.t.Context(), false)
	h.mirror.workers.Wait()
}

func (h *host) final() {
	h.t.Helper()
	require.NoError(h.t, h.mirror.Final(h.t.Context()))
}

// files returns the contents of the regular files in a directory.
func (h *host) files() map[string]string {
	h.t.Helper()
	found := map[string]string{}
	require.NoError(h.t, filepath.WalkDir(h.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, h.dir+"/")] = string(body)
		return err
	}))
	return found
}

// withoutMarkers leaves the algorithm's own files.
func withoutMarkers(files map[string]string) map[string]string {
	for name := range files {
		if privatePath(name) {
			delete(files, name)
		}
	}
	return files
}

// objects returns the contents of the objects below the prefix.
func objects(t requirer, client Client) map[string]string {
	t.Helper()
	found := map[string]string{}
	listed, err := s3stream.ListTree(t.Context(), client, uri+"/")
	if !errors.Is(err, s3stream.ErrNoObjects) {
		require.NoError(t, err)
	}
	for _, o := range listed {
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String(o.Key)})
		if _, gone := errors.AsType[*types.NoSuchKey](err); gone {
			continue // since it was listed
		}
		require.NoError(t, err)
		body, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		out.Body.Close()
		found[strings.TrimPrefix(o.Key, "ckpt/")] = string(body)
	}
	return found
}

func put(t testing.TB, server *s3test.Server, key, body string) {
	t.Helper()
	require.NoError(t, server.Put("data", key, strings.NewReader(body)))
}

// A tally counts requests that change something, and may have them fail.
type tally struct {
	mu       sync.Mutex
	requests []string // "PUT name", multipart ones as "POST name"
}

// count has the server's faults be those of fault, which may be nil, by method and name.
func count(server *s3test.Server, fault func(method, name string) *s3test.Fault) *tally {
	c := &tally{}
	server.SetFault(func(r *http.Request) *s3test.Fault {
		name, ok := strings.CutPrefix(r.URL.Path, "/data/ckpt/")
		if !ok || r.Method == http.MethodGet {
			return nil
		}
		c.mu.Lock()
		c.requests = append(c.requests, r.Method+" "+name)
		c.mu.Unlock()
		if fault == nil {
			return nil
		}
		return fault(r.Method, name)
	})
	return c
}

// take returns the requests since the last time.
func (c *tally) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := append([]string{}, c.requests...)
	c.requests = nil
	return taken
}

func denied(method, name string) func(m, n string) *s3test.Fault {
	return func(m, n string) *s3test.Fault {
		if m == method && n == name {
			return &s3test.Fault{Status: 403, Code: "AccessDenied"}
		}
		return nil
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
