package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/atomicfile"
)

// failing writes a little and then fails.
type failing struct{ err error }

func (f failing) WriteTo(w io.Writer) (int64, error) {
	n, _ := io.WriteString(w, "half of")
	return int64(n), f.err
}

func TestTheFileIsThereWholeOrAsBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	require.NoError(t, atomicfile.Write(path, strings.NewReader("first")))
	full := errors.New("disk full")
	require.ErrorIs(t, atomicfile.Write(path, failing{full}), full)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(got))
	require.NoError(t, atomicfile.Write(path, strings.NewReader("second")))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
}

func TestADirectoryIsEmptyUntilAFileInItIsFinished(t *testing.T) {
	dir := t.TempDir()
	check := func(want bool) {
		t.Helper()
		empty, err := atomicfile.Empty(dir)
		require.NoError(t, err)
		require.Equal(t, want, empty)
	}
	check(true)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".m-1.sagemaker-ignore"), nil, 0o644))
	check(true)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/b/m"), nil, 0o644))
	check(false)
	require.NoError(t, os.RemoveAll(dir))
	check(true)
}

func TestReplacingLeavesOneFileAndTakesOverAnUnfinishedOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	require.NoError(t, os.WriteFile(path+atomicfile.Suffix, []byte("longer than what comes, and left by a killed process"), 0o644))
	require.NoError(t, atomicfile.Replace(atomicfile.OS{}, path, strings.NewReader("first")))
	full := errors.New("disk full")
	require.ErrorIs(t, atomicfile.Replace(atomicfile.OS{}, path, failing{full}), full)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(got))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.ErrorIs(t, atomicfile.Replace(atomicfile.OS{}, filepath.Join(path, "below"), strings.NewReader("")), syscall.ENOTDIR)
}
