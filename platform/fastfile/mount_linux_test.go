package fastfile_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3test"
)

func isMounted(t *testing.T, dir string) bool {
	mounted, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(dir))
	require.NoError(t, err)
	return len(mounted) > 0
}

func TestTheMountIsReadOnly(t *testing.T) {
	w := newWorld(t)
	w.put(t, "dir/f", 10)
	_, dir := w.mount(t, fastfile.Options{})
	path := filepath.Join(dir, "dir", "f")
	for name, do := range map[string]func() error{
		"open for writing": func() error { _, err := os.OpenFile(path, os.O_RDWR, 0); return err },
		"truncate":         func() error { return os.Truncate(path, 0) },
		"create":           func() error { _, err := os.Create(filepath.Join(dir, "new")); return err },
		"mkdir":            func() error { return os.Mkdir(filepath.Join(dir, "new"), 0o755) },
		"rename":           func() error { return os.Rename(path, path+"2") },
		"link":             func() error { return os.Link(path, path+"2") },
		"symlink":          func() error { return os.Symlink(path, path+"2") },
		"remove":           func() error { return unix.Unlink(path) },
		"chmod":            func() error { return os.Chmod(path, 0o777) },
		"touch":            func() error { return os.Chtimes(path, time.Now(), time.Now()) },
		"set an attribute": func() error { return unix.Setxattr(path, "user.x", nil, 0) },
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, do(), syscall.EROFS) })
	}
}

func TestFilesHaveTheirModesSizesAndTimes(t *testing.T) {
	w := newWorld(t)
	w.put(t, "dir/f", 12345)
	_, dir := w.mount(t, fastfile.Options{})
	modified := w.files[0].Object.LastModified
	for path, want := range map[string]struct {
		mode fs.FileMode
		size int64
	}{
		"dir/f": {0o444, 12345},
		"dir":   {fs.ModeDir | 0o555, 0},
		".":     {fs.ModeDir | 0o555, 0},
	} {
		info, err := os.Stat(filepath.Join(dir, path))
		require.NoError(t, err)
		require.Equal(t, want.mode, info.Mode(), path)
		require.Equal(t, want.size, info.Size(), path)
		require.True(t, modified.Equal(info.ModTime()), path)
	}
	_, err := os.Stat(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	var stat unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &stat))
	require.EqualValues(t, 4, stat.Blocks)
	require.EqualValues(t, 255, stat.Namelen)
}

// A page fault blocks a whole thread of the Go runtime, so it takes another
// process to map a file that this one serves.
func TestAMappedFileHoldsTheBytesOfItsObject(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 3<<20+5)
	_, dir := w.mount(t, fastfile.Options{})
	_, sum := startChild(t, "mmap", filepath.Join(dir, "f"))
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(w.bytes["f"])), sum)
}

func TestWhatTheKernelHasIsNotReadAgain(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 1<<20)
	f, dir := w.mount(t, fastfile.Options{Cache: 64 << 10})
	for range 3 {
		_, err := os.ReadFile(filepath.Join(dir, "f"))
		require.NoError(t, err)
	}
	require.Less(t, f.Stats().BytesRead, int64(2<<20)) // it asks twice for a page, at times
}

func TestCloseTakesTheMountFromUnderOpenFiles(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 8<<20)
	f, dir := w.mount(t, fastfile.Options{})
	in, err := os.Open(filepath.Join(dir, "f"))
	require.NoError(t, err)
	defer in.Close()
	stalled := w.stall()
	read := make(chan error)
	go func() {
		_, err := in.ReadAt(make([]byte, 10), 1<<20)
		read <- err
	}()
	<-stalled
	require.NoError(t, f.Close())
	require.Error(t, <-read)
	require.False(t, isMounted(t, dir))
	_, err = in.ReadAt(make([]byte, 10), 4<<20)
	require.Error(t, err)
	require.NoError(t, f.Close(), "once more")
	require.NoError(t, f.Err())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestTheEndOfTheContextUnmounts(t *testing.T) {
	testenv.FUSE(t)
	w := newWorld(t)
	w.put(t, "f", 100)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	f, err := fastfile.Mount(ctx, dir, w.Client(), w.list(t), fastfile.Options{})
	require.NoError(t, err)
	require.True(t, isMounted(t, dir))
	cancel()
	require.NoError(t, f.Close()) // waits
	require.False(t, isMounted(t, dir))
}

func TestAMountThatSomebodyElseTookAwayCloses(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 100)
	f, dir := w.mount(t, fastfile.Options{})
	require.NoError(t, unix.Unmount(dir, 0))
	require.NoError(t, f.Close())
}

// A reader that waits for the page cache hears of no signal but SIGKILL, as
// with a disk; without the page cache it hears of all.
func TestAReaderThatWaitsCanBeKilled(t *testing.T) {
	for name, test := range map[string]struct {
		flags  int
		signal syscall.Signal
	}{
		"buffered": {unix.O_RDONLY, syscall.SIGKILL},
		"direct":   {unix.O_RDONLY | unix.O_DIRECT, syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(t, "f", 100)
			f, dir := w.mount(t, fastfile.Options{})
			stalled := w.stall()
			process, _ := startChild(t, "read", filepath.Join(dir, "f"), fmt.Sprint(test.flags))
			<-stalled
			require.NoError(t, process.Process.Signal(test.signal))
			exit, is := errors.AsType[*exec.ExitError](process.Wait())
			require.True(t, is)
			require.Equal(t, test.signal, exit.Sys().(syscall.WaitStatus).Signal())
			require.NoError(t, f.Err())
		})
	}
}

func TestDetachTakesAwayWhatAKilledProcessLeft(t *testing.T) {
	testenv.FUSE(t)
	dir := t.TempDir()
	process, _ := startChild(t, "mount", dir)
	require.True(t, isMounted(t, dir))
	require.NoError(t, process.Process.Kill())
	process.Wait()
	_, err := os.ReadDir(dir)
	require.ErrorIs(t, err, syscall.ENOTCONN)
	require.NoError(t, fastfile.Detach(dir))
	require.False(t, isMounted(t, dir))
	require.NoError(t, fastfile.Detach(dir), "nothing is there")
}

func TestDetachLeavesOtherMountsAlone(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no right to mount: ", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	require.NoError(t, fastfile.Detach(dir))
	require.True(t, isMounted(t, dir))
}

func TestMountingOnNothingIsAnError(t *testing.T) {
	testenv.FUSE(t)
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "none")
	_, err := fastfile.Mount(t.Context(), dir, w.Client(), nil, fastfile.Options{})
	require.ErrorContains(t, err, "mount "+dir)
}

// A file that fails once does not stay failed in the kernel.
func TestAnErrorIsNotKeptByTheKernel(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 100)
	f, dir := w.mount(t, fastfile.Options{Stream: hasty})
	w.onGets(func(int64, *http.Request) *s3test.Fault { return &s3test.Fault{Status: 500} })
	_, err := os.ReadFile(filepath.Join(dir, "f"))
	isFailure(t, f, err)
	w.SetFault(nil)
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	require.NoError(t, err)
	require.Equal(t, w.bytes["f"], got)
}
