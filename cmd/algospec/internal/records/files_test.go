package records

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

// A directory's parts are the files that a channel reads, in its order.
func TestDirectoryIsReadAsAChannelIs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"b", "a/z", "a-b", "a.b", "A", "ä", "_x", ".x", "x.sagemaker-uploaded", "_dir/a", ".dir/a", "a/_b", "c/d/e",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(name+"\n"), 0o644))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "b"), filepath.Join(dir, "link")))

	epoch, err := channel.Files{Dir: dir}.Open(t.Context(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	want, err := io.ReadAll(epoch)
	require.NoError(t, err)

	parts, err := files(dir)
	require.NoError(t, err)
	var got []byte
	for _, p := range parts {
		data, err := os.ReadFile(p.name)
		require.NoError(t, err)
		got = append(got, data...)
	}
	require.Equal(t, string(want), string(got))
}
