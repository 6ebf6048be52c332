package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
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
