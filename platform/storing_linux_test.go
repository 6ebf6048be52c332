package platform_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// What a job has saved is stored also if the stop comes while it is being stored.
func TestAStopWhileTheModelIsStoredLosesNothing(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodPut {
			cancel()
			time.Sleep(50 * time.Millisecond)
		}
		return nil
	})
	result, err := run(t, ctx, job)
	require.NoError(t, err, "the algorithm had ended before")
	require.Contains(t, files(t, server.Client(), result.ModelArtifacts), "train")
}

func TestNoEpochIsReadWhileFilesAreDownloaded(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	job.Channels = append(job.Channels, platform.Channel{Name: "test", S3URI: "s3://data/test/", InputMode: "File"})
	var mu sync.Mutex
	var first *platform.Progress
	reported := make(chan struct{})
	job.Progress = func(p platform.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil && len(p.Channels) > 0 {
			first = &p
			close(reported)
		}
	}
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if isGet(r, "test/part") {
			<-reported
		}
		return nil
	})
	_, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, -1, first.Channels[0].Epoch)
}

func TestASocketIsNotStoredAndTold(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	var log bytes.Buffer
	job.Logger = slog.New(slog.NewTextHandler(&log, nil))
	job.Trainer = func(_ context.Context, j *algospec.Job) error {
		l, err := net.Listen("unix", filepath.Join(j.Getenv("SAGEMAKER_BASE_DIR"), "model", "sock"))
		if err == nil {
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			l.Close()
		}
		return err
	}
	result, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.Empty(t, result.ModelArtifacts, "there was nothing else")
	require.Contains(t, log.String(), "sock of algo-1 is not stored, as it is no regular file")
}

func TestUncompressedOutputIsAnObjectPerFile(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	job.OutputCompression = "NONE"
	job.HyperParameters = hyperparams.Map{"mode": "output"}
	result, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(result.ModelArtifacts, "/"+job.Name+"/output/model/"), result.ModelArtifacts)
	require.True(t, strings.HasSuffix(result.Output, "/"+job.Name+"/output/data/"), result.Output)
	for uri, want := range map[string][]string{result.ModelArtifacts: {"name", "train"}, result.Output: {"plots/loss.txt"}} {
		objects, err := s3stream.List(t.Context(), server.Client(), uri)
		require.NoError(t, err)
		var names []string
		for _, o := range objects {
			names = append(names, strings.TrimPrefix("s3://"+o.Bucket+"/"+o.Key, uri))
		}
		require.Equal(t, want, names)
	}
}

func TestAModelDirectoryThatIsALinkIsStored(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	elsewhere := t.TempDir()
	job.Trainer = func(_ context.Context, j *algospec.Job) error {
		model := filepath.Join(j.Getenv("SAGEMAKER_BASE_DIR"), "model")
		if err := os.Remove(model); err != nil {
			return err
		}
		if err := os.WriteFile(elsewhere+"/weights", []byte("w"), 0o644); err != nil {
			return err
		}
		return os.Symlink(elsewhere, model)
	}
	result, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"weights": "w"}, files(t, server.Client(), result.ModelArtifacts))
	require.FileExists(t, elsewhere+"/weights")
}

// A file system that is mounted below the directory is part of it, and as read-only.
func TestALinkedDirectoryShowsWhatIsMountedInIt(t *testing.T) {
	target, dir := t.TempDir(), filepath.Join(t.TempDir(), "train")
	require.NoError(t, os.Mkdir(target+"/sub", 0o755))
	if err := unix.Mount("tmpfs", target+"/sub", "tmpfs", 0, ""); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Unmount(target+"/sub", unix.MNT_DETACH) })
	require.NoError(t, os.WriteFile(target+"/sub/file", []byte("data"), 0o644))
	mount, err := filemode.Link(dir, target, true)
	require.NoError(t, err)
	t.Cleanup(func() { mount.Close() })
	require.FileExists(t, dir+"/sub/file")
	require.Error(t, os.WriteFile(dir+"/sub/file", nil, 0o644))
	require.NoError(t, mount.Close())
	require.NoDirExists(t, dir)
	require.FileExists(t, target+"/sub/file")
}
