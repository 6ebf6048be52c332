package filemode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWritableLinkSharesTheDirectory(t *testing.T) {
	target, tree := t.TempDir(), t.TempDir()
	dir := filepath.Join(tree, "input", "train")
	m, err := Link(dir, target, false)
	require.NoError(t, err)
	require.False(t, m.ReadOnly)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), []byte("x"), 0o644))
	require.FileExists(t, filepath.Join(target, "x"))
	require.NoError(t, os.RemoveAll(filepath.Dir(dir)), "a tree removed too early")
	require.FileExists(t, filepath.Join(target, "x"), "does not take the data with it")

	m, err = Link(dir, target, false)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close(), "again")
	require.NoFileExists(t, dir)
	require.FileExists(t, filepath.Join(target, "x"))
}

func TestOnlyDirectoriesAreLinked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, target := range []string{file, filepath.Join(t.TempDir(), "missing")} {
		dir := filepath.Join(t.TempDir(), "train")
		_, err := Link(dir, target, true)
		var failure *FileError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, dir, failure.Path)
		require.NoDirExists(t, dir)
	}
}
