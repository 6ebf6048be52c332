package platform_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform"
)

// The algorithm's working directory is not ours.
func TestARelativeDirectoryIsOursNotTheAlgorithms(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		server := newServer(t)
		job := newJob(t, server)
		t.Chdir(job.Dir)
		job.Dir = "."
		result, err := run(t, t.Context(), as(job))
		require.NoError(t, err)
		require.Equal(t, digest(data, 1), files(t, server.Client(), result.ModelArtifacts)["train"])
	})
}

func TestATrainerThatEndsItsGoroutineFailsTheJob(t *testing.T) {
	job := newJob(t, newServer(t))
	job.Trainer = func(context.Context, *algospec.Job) error {
		runtime.Goexit() // as require and t.FailNow do
		return nil
	}
	_, err := run(t, t.Context(), job)
	failed, ok := errors.AsType[*platform.FailedError](err)
	require.True(t, ok)
	require.Contains(t, failed.Reason, "AlgorithmError: the trainer ended its goroutine")
}

func TestATrainerThatIgnoresTheStopIsLeftBehind(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	job.Grace = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	release, left := make(chan struct{}), make(chan struct{})
	job.Trainer = func(_ context.Context, job *algospec.Job) error {
		defer close(left)
		err := job.Model.Save("partial", strings.NewReader("half a model"))
		cancel()
		<-release
		job.Println("too late")
		return err
	}
	var log bytes.Buffer
	job.Log = &log
	result, err := platform.Run(ctx, job)
	close(release)
	<-left
	require.ErrorIs(t, err, platform.ErrStopped)
	require.Equal(t, 137, result.ExitCode)
	require.Equal(t, map[string]string{"partial": "half a model"}, files(t, server.Client(), result.ModelArtifacts))
	require.Contains(t, log.String(), "the trainer did not return within 20ms of being stopped")
	require.NotContains(t, log.String(), "too late")
}

func TestOddNamesOfChannelsAndPrefixes(t *testing.T) {
	server := newServer(t)
	require.NoError(t, server.Put("data", "100%/a b+c/x", strings.NewReader("odd")))
	job := newJob(t, server)
	job.Channels = []platform.Channel{
		{Name: "train", S3URI: "s3://data/train/"},
		{Name: ".train", S3URI: "s3://data/100%/"},
		{Name: "train_0", S3URI: "s3://data/100%/a b+c/x"},
	}
	result, err := run(t, t.Context(), job)
	require.NoError(t, err)
	got := files(t, server.Client(), result.ModelArtifacts)
	require.Equal(t, digest(data, 1), got["train"])
	require.Equal(t, digest([]byte("odd"), 1), got[".train"])
	require.Equal(t, digest([]byte("odd"), 1), got["train_0"])
}

// Files that a killed process was writing are no part of the model.
func TestUnfinishedFilesAreNotStored(t *testing.T) {
	server := newServer(t)
	for _, finished := range []bool{false, true} {
		job := newJob(t, server)
		job.Trainer = func(_ context.Context, job *algospec.Job) error {
			path := filepath.Join(string(job.Model), "sub", ".model-1.sagemaker-ignore")
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
				return err
			}
			if finished {
				return job.Model.Save("model", strings.NewReader("whole"))
			}
			return nil
		}
		result, err := run(t, t.Context(), job)
		if !finished {
			require.ErrorContains(t, err, "AlgorithmError: the training ended and left the model directory empty")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, map[string]string{"model": "whole", "sub/": ""}, files(t, server.Client(), result.ModelArtifacts))
	}
}

func TestAnAlgorithmThatRemovesItsModelDirectoryHasNoModel(t *testing.T) {
	job := asCommand(newJob(t, newServer(t)))
	job.Command = []string{"/bin/sh", "-c", `rm -r "$SAGEMAKER_BASE_DIR/model"`}
	job.HyperParameters = hyperparams.Map{}
	result, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.Empty(t, result.ModelArtifacts)
}
