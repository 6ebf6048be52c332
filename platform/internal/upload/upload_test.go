package upload

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform/s3test"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func newRoot(t *testing.T) (root *os.Root, dir string) {
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func lstat(t *testing.T, root *os.Root, name string) fs.FileInfo {
	t.Helper()
	info, err := root.Lstat(name)
	require.NoError(t, err)
	return info
}

func TestAVersionIsTheFileAsItWas(t *testing.T) {
	root, dir := newRoot(t)
	require.NoError(t, os.WriteFile(dir+"/file", []byte("content"), 0o644))
	v, err := Open(root, "file", lstat(t, root, "file"))
	require.NoError(t, err)
	defer v.Close()
	require.NoError(t, iotest.TestReader(readerOnly{v}, []byte("content")))
}

type readerOnly struct{ io.Reader }

func TestWhatHasTakenTheFilesPlaceIsNotRead(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"nothing":       func(string) error { return nil },
		"a FIFO":        func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a directory":   func(path string) error { return os.Mkdir(path, 0o755) },
		"another file":  func(path string) error { return os.WriteFile(path, []byte("content"), 0o644) },
		"a link inside": func(path string) error { return os.Symlink("other", path) },
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := newRoot(t)
			for _, name := range []string{"file", "other"} {
				require.NoError(t, os.WriteFile(dir+"/"+name, []byte("content"), 0o644))
			}
			info := lstat(t, root, "file")
			require.NoError(t, os.Rename(dir+"/file", dir+"/away")) // its inode stays taken
			require.NoError(t, replace(dir+"/file"))
			_, err := Open(root, "file", info)
			require.ErrorIs(t, err, ErrChanged)
		})
	}
	root, dir := newRoot(t)
	require.NoError(t, os.WriteFile(dir+"/file", nil, 0o644))
	info := lstat(t, root, "file")
	require.NoError(t, os.Remove(dir+"/file"))
	require.NoError(t, os.Symlink("/etc/passwd", dir+"/file"))
	_, err := Open(root, "file", info)
	require.Error(t, err)
}

func TestWhatHasTakenADirectorysPlaceIsNotWaitedFor(t *testing.T) {
	root, dir := newRoot(t)
	require.NoError(t, os.MkdirAll(dir+"/d/below", 0o755))
	info := lstat(t, root, "d")
	entries, err := ReadDir(root, "d", info)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, os.Rename(dir+"/d", dir+"/away"))
	require.NoError(t, syscall.Mkfifo(dir+"/d", 0o644))
	_, err = ReadDir(root, "d", info)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestKeysThatS3DoesNotTake(t *testing.T) {
	require.NoError(t, CheckKey(strings.Repeat("ü", 512)))
	for _, key := range []string{strings.Repeat("ü", 512) + "x", "\xff"} {
		require.ErrorIs(t, CheckKey(key), ErrKey)
		require.ErrorIs(t, Stream(t.Context(), nil, "bucket", key, "", strings.NewReader(""), 0), ErrKey)
	}
}

// S3 takes 10,000 parts.
func TestPartsAreAsLargeAsTheNumberOfThemAllows(t *testing.T) {
	for most, want := range map[int64]int64{0: 8 << 20, 1 << 20: 8 << 20, 70 << 30: 8 << 20, 1 << 40: 1<<40/10_000 + 1} {
		require.Equal(t, want, partSizeOf(most))
		require.LessOrEqual(t, most/partSizeOf(most)+1, int64(10_000))
	}
}

// An aborter notes whether uploads that were cancelled are cleared away.
type aborter struct {
	Client
	aborted error
}

func (a *aborter) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, o ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error) {
	out, err := a.Client.AbortMultipartUpload(ctx, in, o...)
	a.aborted = err
	return out, err
}

func TestAStreamThatBreaksOffStoresNothing(t *testing.T) {
	server := s3test.New()
	defer server.Close()
	require.NoError(t, server.Put("data", "key", strings.NewReader("old")))
	broken := errors.New("broken")
	for _, size := range []int64{0, 1, 8 << 20, 20 << 20} {
		client := &aborter{Client: server.Client()}
		body := io.MultiReader(io.LimitReader(zeros{}, size), iotest.ErrReader(broken))
		require.ErrorIs(t, Stream(t.Context(), client, "data", "key", "", body, 0), broken)
		require.NoError(t, client.aborted)
		out, err := server.Client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("data"), Key: aws.String("key")})
		require.NoError(t, err)
		require.EqualValues(t, 3, *out.ContentLength)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
