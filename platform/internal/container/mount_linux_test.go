package container

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/testenv"
)

func TestAFileSystemMountedLaterIsSeenWhereTheTreeIsShared(t *testing.T) {
	testenv.FUSE(t)
	each(t, func(t *testing.T, w *world) {
		tree := t.TempDir()
		if err := unix.Mount(tree, tree, "", unix.MS_BIND, ""); err != nil {
			t.Skip("cannot mount: ", err)
		}
		t.Cleanup(func() { require.NoError(t, unix.Unmount(tree, unix.MNT_DETACH)) })
		require.NoError(t, unix.Mount("", tree, "", unix.MS_SHARED, ""))
		require.NoError(t, os.Mkdir(filepath.Join(tree, "train"), 0o755))
		c, said := w.start(t, Spec{Arguments: []string{"await=/opt/ml/train/rows"}, Mounts: []Mount{{Source: tree, Target: "/opt/ml"}}})
		said.await(t, "ready\n")
		mountFast(t, filepath.Join(tree, "train"), "later\n")
		require.Equal(t, End{}, wait(t, c))
		require.Equal(t, "ready\nlater\n", said.String())
	})
}
