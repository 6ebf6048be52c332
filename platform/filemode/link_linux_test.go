package filemode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAReadOnlyMountRefusesWrites(t *testing.T) {
	target := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(target, "x"), []byte("x"), 0o644))
	dir := filepath.Join(t.TempDir(), "input", "train")
	m, err := Link(dir, target, true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	if !m.ReadOnly {
		t.Skip("cannot mount, as root may")
	}
	body, err := os.ReadFile(filepath.Join(dir, "x"))
	require.NoError(t, err)
	require.Equal(t, "x", string(body))
	require.ErrorIs(t, os.WriteFile(filepath.Join(dir, "y"), nil, 0o644), unix.EROFS)
	require.ErrorIs(t, os.Remove(filepath.Join(dir, "x")), unix.EROFS)
	require.Error(t, os.RemoveAll(filepath.Dir(dir)), "a tree removed too early")
	require.FileExists(t, filepath.Join(target, "x"), "does not take the data with it")
	require.NoError(t, os.WriteFile(filepath.Join(target, "y"), nil, 0o644), "the target itself stays writable")

	open, err := os.Open(filepath.Join(dir, "x"))
	require.NoError(t, err)
	defer open.Close()
	require.NoError(t, m.Close(), "also while a file is open")
	require.NoError(t, m.Close(), "again")
	require.NoFileExists(t, dir)
	require.FileExists(t, filepath.Join(target, "x"))
}

func TestAMountDoesNotCoverFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o644))
	for _, readOnly := range []bool{true, false} {
		_, err := Link(dir, t.TempDir(), readOnly)
		require.ErrorIs(t, err, unix.ENOTEMPTY)
		require.FileExists(t, filepath.Join(dir, "x"))
	}
}
