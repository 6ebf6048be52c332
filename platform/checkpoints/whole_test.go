package checkpoints

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform/s3test"
)

// A meddler calls before ahead of each request that brings data or ends an upload, and counts uploads.
type meddler struct {
	Client
	before func(key string)

	mu                       sync.Mutex
	begun, completed, undone int
}

func (c *meddler) count(n *int) {
	c.mu.Lock()
	*n++
	c.mu.Unlock()
}

func (c *meddler) PutObject(ctx context.Context, in *s3.PutObjectInput, o ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	c.before(*in.Key)
	return c.Client.PutObject(ctx, in, o...)
}

func (c *meddler) CreateMultipartUpload(ctx context.Context, in *s3.CreateMultipartUploadInput, o ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error) {
	out, err := c.Client.CreateMultipartUpload(ctx, in, o...)
	if err == nil {
		c.count(&c.begun)
	}
	return out, err
}

func (c *meddler) UploadPart(ctx context.Context, in *s3.UploadPartInput, o ...func(*s3.Options)) (*s3.UploadPartOutput, error) {
	c.before(*in.Key)
	return c.Client.UploadPart(ctx, in, o...)
}

func (c *meddler) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, o ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	out, err := c.Client.CompleteMultipartUpload(ctx, in, o...)
	if err == nil {
		c.count(&c.completed)
	}
	return out, err
}

func (c *meddler) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, o ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error) {
	out, err := c.Client.AbortMultipartUpload(ctx, in, o...)
	if err == nil {
		c.count(&c.undone)
	}
	return out, err
}

// large needs several parts, more than are read ahead of the first that is sent.
var large = strings.Repeat("0123456789abcdef", 64<<20/16)

func TestAFileThatChangesWhileItIsStoredIsNotStoredThen(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"grows": func(t *testing.T, path string) {
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = file.WriteString("more")
			require.NoError(t, err)
			require.NoError(t, file.Close())
		},
		"shrinks":    func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 60<<20)) },
		"is emptied": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
		"changes in place": func(t *testing.T, path string) {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = file.WriteAt([]byte("X"), int64(len(large)-1))
			require.NoError(t, err)
			require.NoError(t, file.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t)
			put(t, server, "ckpt/file", "the old version")
			client := &meddler{Client: server.Client(), before: func(string) {}}
			h := newHost(t, client, t.TempDir(), Options{})
			h.write("file", large)
			var once sync.Once
			client.before = func(string) { once.Do(func() { change(t, h.path("file")) }) }
			h.look()
			require.Equal(t, map[string]string{"file": "the old version"}, objects(t, client))
			require.Equal(t, []int{1, 0, 1}, []int{client.begun, client.completed, client.undone})
			require.NoFileExists(t, h.path("file"+uploading))
			require.NoFileExists(t, h.path("file"+uploaded))
			h.final()
			require.Equal(t, withoutMarkers(h.files()), objects(t, client))
		})
	}
}

func TestAFileThatIsReplacedWhileItIsStoredIsStoredAgain(t *testing.T) {
	server := startServer(t)
	client := &meddler{Client: server.Client(), before: func(string) {}}
	h := newHost(t, client, t.TempDir(), Options{})
	h.write("file", large)
	var once sync.Once
	client.before = func(string) {
		once.Do(func() { require.NoError(t, atomicfile.Write(h.path("file"), strings.NewReader("the next"))) })
	}
	h.look()
	require.True(t, objects(t, client)["file"] == large, "the version that was opened is whole")
	require.NoFileExists(t, h.path("file"+uploaded), "which is not the one that is there")
	h.final()
	require.Equal(t, map[string]string{"file": "the next"}, objects(t, client))
	require.FileExists(t, h.path("file"+uploaded))
}

func TestAFileThatIsDeletedWhileItIsStoredIsDeleted(t *testing.T) {
	server := startServer(t)
	client := &meddler{Client: server.Client(), before: func(string) {}}
	h := newHost(t, client, t.TempDir(), Options{})
	h.write("file", "x")
	client.before = func(string) { h.remove("file") }
	h.look()
	h.look()
	require.Empty(t, objects(t, client))
	require.Empty(t, h.files(), "no marker stays")
}

// A version is text that tells whether it is whole.
func version(n, size int) string { return fmt.Sprintf("%d:%s:%d", n, strings.Repeat("v", size), n) }

func requireVersion(t testing.TB, body string) (n int) {
	t.Helper()
	_, err := fmt.Sscanf(body, "%d:", &n)
	require.NoError(t, err)
	require.Equal(t, n%7*100_000, len(fillingOf(t, body)))
	return n
}

// A writer that renames, a mirror that looks all the time and a reader of S3: the reader only
// ever sees versions.
func TestEachObjectEverSeenIsAWholeVersion(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{Interval: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { h.mirror.Run(ctx) })
	written, seen := 0, map[int]bool{}
	running.Go(func() {
		for ctx.Err() == nil {
			written++
			if err := atomicfile.Write(h.path("latest"), strings.NewReader(version(written, written%7*100_000))); err != nil {
				t.Error(err)
				return
			}
			wait(ctx, 40*time.Millisecond) // to be quiet long enough now and then
		}
	})
	for len(seen) < 10 && t.Context().Err() == nil {
		out, err := server.Client().GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String("ckpt/latest")})
		if err != nil {
			continue // not there yet
		}
		body, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		out.Body.Close()
		seen[requireVersion(t, string(body))] = true
	}
	cancel()
	running.Wait()
	h.final()
	require.Equal(t, written, requireVersion(t, objects(t, server.Client())["latest"]))
}

func TestLargeFilesGoInParts(t *testing.T) {
	server := startServer(t)
	client := &meddler{Client: server.Client(), before: func(string) {}}
	h := newHost(t, client, t.TempDir(), Options{})
	h.write("large", large)
	h.write("part", large[:8<<20])
	h.write("less", large[:8<<20-1])
	h.final()
	require.Equal(t, 2, client.completed)
	got := objects(t, client)
	require.True(t, got["large"] == large && got["part"] == large[:8<<20] && got["less"] == large[:8<<20-1])
}

func TestAnUploadThatFailsLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	server, err := s3test.Start(s3test.Options{Dir: dir})
	require.NoError(t, err)
	defer server.Close()
	require.NoError(t, server.CreateBucket("data"))
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{})
	h.write("large", large)
	count(server, func(method, _ string) *s3test.Fault {
		if method == "PUT" {
			return &s3test.Fault{Status: 500, Code: "InternalError"}
		}
		return nil
	})
	h.look()
	left, err := os.ReadDir(filepath.Join(dir, "incoming"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, objects(t, server.Client()))
	require.Equal(t, []string{"large"}, keys(h.files()), "no marker stays")
}
