package fastfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
)

// Of two file systems on one directory each takes away its own and no other.
func TestCloseTakesNoOtherMountAway(t *testing.T) {
	testenv.FUSE(t)
	w := newWorld(t)
	w.put(t, "f", 10)
	files, dir := w.list(t), t.TempDir()
	below, err := fastfile.Mount(t.Context(), dir, w.Client(), files, fastfile.Options{})
	require.NoError(t, err)
	above, err := fastfile.Mount(t.Context(), dir, w.Client(), files, fastfile.Options{})
	require.NoError(t, err)
	require.ErrorContains(t, below.Close(), "mounted on top")
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	require.NoError(t, err, "the other one")
	require.Equal(t, w.bytes["f"], got)
	require.NoError(t, above.Close())
	require.NoError(t, fastfile.Detach(dir))
}

func TestAFolderHasTheTimeOfItsObject(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 10)
	require.NoError(t, w.Put("data", "train/empty/", bytes.NewReader(nil)))
	objects, err := s3stream.ListTree(t.Context(), w.Client(), "s3://data/train/")
	require.NoError(t, err)
	files, err := s3stream.Layout("s3://data/train/", objects)
	require.NoError(t, err)
	f, err := fastfile.New(t.Context(), w.Client(), files, fastfile.Options{})
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat("empty")
	require.NoError(t, err)
	require.Equal(t, objects[0].LastModified, info.ModTime())
}
