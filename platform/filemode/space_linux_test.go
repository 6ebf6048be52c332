package filemode

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/platform/s3test"
)

// mountTmpfs mounts a file system of a size such as 1m; only root may.
func mountTmpfs(t *testing.T, options string) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("cannot mount a tmpfs, as root may: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

func requireNoSpace(t *testing.T, err error, dir string, need int64) *SpaceError {
	t.Helper()
	require.ErrorIs(t, err, syscall.ENOSPC)
	var space *SpaceError
	require.ErrorAs(t, err, &space)
	require.Equal(t, dir, space.Dir)
	require.Equal(t, need, space.Need)
	require.True(t, space.ClientError())
	return space
}

func TestTooLittleSpaceIsFoundOutBeforeTheDownload(t *testing.T) {
	server, dir := startServer(t), mountTmpfs(t, "size=1m")
	dataSet{"a": make([]byte, 500_000), "b": make([]byte, 600_000), "c": nil}.put(t, server)
	client := &counter{Client: server.Client()}
	err := Download(t.Context(), client, dir, layout(t, server), small)
	space := requireNoSpace(t, err, dir, 123*4096+147*4096)
	require.Equal(t, "b", space.Path)
	require.Less(t, space.Free, int64(1<<20))
	require.Empty(t, client.gets)
	require.ErrorContains(t, err, "no space for b: "+dir+" needs 1.1 MB for the files of the channel, 1.0 MB are free")
}

func TestSpaceThatRunsOutMidwayIsTheSameError(t *testing.T) {
	server, dir := startServer(t), mountTmpfs(t, "size=1m")
	data := dataSet{"a": bytes.Repeat([]byte("a"), 5_000), "b": bytes.Repeat([]byte("b"), 400_000), "c": bytes.Repeat([]byte("c"), 5_000)}
	data.put(t, server)
	files := layout(t, server)
	other := filepath.Join(dir, "other")
	faulty(server, func(_ string, n int) *s3test.Fault {
		if n == 1 {
			os.WriteFile(other, make([]byte, 1<<20), 0o644) // as much as there is
		}
		return nil
	})
	opts := small
	opts.Concurrency = 1
	opts.PartSize = 1 << 20 // without room made before
	err := Download(t.Context(), server.Client(), dir, files, opts)
	space := requireNoSpace(t, err, dir, 8192+401_408+8192)
	require.Zero(t, space.Free)
	require.NoError(t, os.Remove(other))
	requireWholeFiles(t, data, dir)
	require.NoError(t, Download(t.Context(), server.Client(), dir, files, small), "once there is space again")
	requireFiles(t, data, dir)
}

func TestNotEvenADirectoryFits(t *testing.T) {
	server, dir := startServer(t), mountTmpfs(t, "size=1m,nr_inodes=1") // the root's
	dataSet{"a": []byte("a")}.put(t, server)
	err := Download(t.Context(), server.Client(), dir, layout(t, server), small)
	requireNoSpace(t, err, dir, 1)
}

func TestWhatIsThereAlreadyNeedsNoSpace(t *testing.T) {
	server, dir := startServer(t), mountTmpfs(t, "size=1m")
	data := dataSet{"a": bytes.Repeat([]byte("a"), 300_000), "b": bytes.Repeat([]byte("b"), 600_000)}
	data.put(t, server)
	files := layout(t, server)
	interrupt(t, server, dir, files, 40, 4)
	require.NoError(t, Download(t.Context(), server.Client(), dir, files, small))
	requireFiles(t, data, dir)
}

func TestAReadOnlyDirectoryIsAnError(t *testing.T) {
	server, dir := startServer(t), mountTmpfs(t, "size=1m")
	dataSet{"a": []byte("a")}.put(t, server)
	require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "size=1m"))
	err := Download(t.Context(), server.Client(), dir, layout(t, server), small)
	var file *FileError
	require.ErrorAs(t, err, &file)
	require.ErrorIs(t, err, unix.EROFS)
	require.ErrorContains(t, err, dir)
}
