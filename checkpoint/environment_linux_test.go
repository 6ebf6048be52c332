package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// tmpfs returns a directory on a disk of its own, of the given size.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

func TestAFullDiskLeavesThePreviousSnapshot(t *testing.T) {
	s := NewStore(filepath.Join(tmpfs(t, "size=1m"), "checkpoints"), Options{Keep: 1})
	save(t, s, 1)
	for range 3 {
		err := s.Save(t.Context(), Snapshot{Step: 2}, text(strings.Repeat("x", 2<<20)))
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.EqualError(t, err, "checkpoint: step 2: write "+pathOf(s, 2)+".sagemaker-ignore: no space left on device")
		require.Equal(t, int64(1), restored(t, s))
	}
	save(t, s, 3) // there is room again: what was half written is gone
	require.Equal(t, []int64{3}, steps(t, s))
	require.NoError(t, s.Close())
}

func TestADiskWithoutInodesLeavesThePreviousSnapshot(t *testing.T) {
	s := NewStore(tmpfs(t, "nr_inodes=4"), Options{}) // the directory, the lock and two snapshots
	save(t, s, 1, 2)
	err := s.Save(t.Context(), Snapshot{Step: 3}, text(""))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, int64(2), restored(t, s))
	require.NoError(t, s.Close())
}

func TestAReadOnlyDirectorySaysSoAndIsRead(t *testing.T) {
	dir := tmpfs(t, "size=1m")
	s := NewStore(dir, Options{})
	save(t, s, 1)
	require.NoError(t, s.Close())
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	s = NewStore(dir, Options{})
	require.Equal(t, int64(1), restored(t, s))
	err := s.Save(t.Context(), Snapshot{Step: 2}, text(""))
	require.ErrorIs(t, err, syscall.EROFS)
	require.True(t, strings.HasPrefix(err.Error(), "checkpoint: "+dir+": algo-1: open "), err)
}

// What cannot be read may be the newest: it is passed over, and nothing is saved that might count as older.
func TestASnapshotThatCannotBeReadIsNotTakenForDamaged(t *testing.T) {
	var log bytes.Buffer
	dir := t.TempDir()
	s := NewStore(dir, Options{Logger: logTo(&log)})
	save(t, s, 1, 2)
	require.NoError(t, s.Close())
	for path := dir; path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		require.NoError(t, os.Chmod(path, 0o777))
	}
	require.NoError(t, os.Chmod(pathOf(s, 2), 0))
	defer asNobody(t)()
	s = NewStore(dir, s.opts)
	require.Equal(t, int64(1), restored(t, s))
	require.Contains(t, log.String(), "step=2")
	require.Contains(t, log.String(), "permission denied")
}

// asNobody takes root's right to read everything away, until the function returned is called.
func asNobody(t *testing.T) func() {
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	require.NoError(t, syscall.Setfsuid(65534))
	return func() {
		syscall.Setfsuid(0)
		runtime.UnlockOSThread()
	}
}
