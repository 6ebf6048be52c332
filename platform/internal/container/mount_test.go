package container

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func TestAPipeConnectsTheContainerAndThePlatform(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tree := filepath.Join(t.TempDir(), `of a, "b" and c:d`)
		if !w.podman {
			tree = filepath.Join(t.TempDir(), "of c:d") // podman's service does not quote what docker tells it
		}
		require.NoError(t, os.Mkdir(tree, 0o755))
		pipe := filepath.Join(tree, "train_0")
		require.NoError(t, syscall.Mkfifo(pipe, 0o666))
		c, said := w.start(t, Spec{
			Arguments: []string{"read=/opt/ml/train_0", "touch=/opt/ml/model"}, Mounts: []Mount{{Source: tree, Target: "/opt/ml"}},
		})
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
		require.NoError(t, err)
		content := bytes.Repeat([]byte("0123456789abcdef\n"), 50_000)
		_, err = writer.Write(content)
		require.NoError(t, err)
		require.NoError(t, writer.Close())
		require.Equal(t, End{}, wait(t, c))
		require.Equal(t, string(content), said.String())
		require.FileExists(t, filepath.Join(tree, "model"))
	})
}

func TestAReadOnlyMountCannotBeWritten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tree := t.TempDir()
		end, said := w.run(t, Spec{Arguments: []string{"touch=/opt/ml/x"}, Mounts: []Mount{{Source: tree, Target: "/opt/ml", ReadOnly: true}}})
		require.Equal(t, 3, end.ExitCode)
		require.Contains(t, said, "read-only file system")
		require.NoFileExists(t, filepath.Join(tree, "x"))
	})
}

// mountFast mounts one object, as a FastFile channel.
func mountFast(t *testing.T, dir, content string) {
	server := s3test.New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	require.NoError(t, server.CreateBucket("data"))
	require.NoError(t, server.Put("data", "d/rows", bytes.NewReader([]byte(content))))
	client := server.Client(func(o *s3.Options) { o.RetryMaxAttempts = 1 })
	objects, err := s3stream.List(t.Context(), client, "s3://data/d/")
	require.NoError(t, err)
	view, err := fastfile.Mount(t.Context(), dir, client, []s3stream.File{{Path: "rows", Object: objects[0]}}, fastfile.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, view.Close()) })
}

func TestAFileSystemMountedBelowTheTreeIsSeen(t *testing.T) {
	testenv.FUSE(t)
	each(t, func(t *testing.T, w *world) {
		tree := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(tree, "train"), 0o755))
		mountFast(t, filepath.Join(tree, "train"), "fast\n")
		_, said := w.run(t, Spec{Arguments: []string{"read=/opt/ml/train/rows"}, Mounts: []Mount{{Source: tree, Target: "/opt/ml"}}})
		require.Equal(t, "fast\n", said)
	})
}

func TestAnonymousVolumesGoWithTheContainer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, said := w.start(t, Spec{Arguments: []string{"touch=/scratch/x", "hang="}})
		said.await(t, "ready")
		volume, err := w.call(t.Context(), w.patience, "container", "inspect", "--format", "{{range .Mounts}}{{.Name}}{{end}}", c.id)
		require.NoError(t, err)
		require.NotEmpty(t, volume)
		_, err = w.call(t.Context(), w.patience, "volume", "inspect", volume)
		require.NoError(t, err)
		require.NoError(t, c.Remove(t.Context()))
		_, err = w.call(t.Context(), w.patience, "volume", "inspect", volume)
		require.Error(t, err)
	})
}
