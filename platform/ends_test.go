package platform_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

// doing returns a job without channels that does this.
func doing(t *testing.T, hosts int, do func(ctx context.Context, job *algospec.Job) error) platform.Job {
	job := newJob(t, newServer(t))
	job.Channels, job.InstanceCount = nil, hosts
	job.Trainer = algospec.Bind(func(ctx context.Context, job *algospec.Job, _ struct{}) error { return do(ctx, job) })
	return job
}

// A host that is done already does not make the end of the others a good one.
func TestAStopIsNotTooLateWhileAHostTrains(t *testing.T) {
	for name, end := range map[string]error{"well": nil, "badly": errors.New("half done")} {
		t.Run(name, func(t *testing.T) {
			var running *platform.Running
			first := make(chan struct{})
			job := doing(t, 2, func(ctx context.Context, job *algospec.Job) error {
				if job.Host == "algo-1" {
					defer close(first)
					return job.Model.Save("first", strings.NewReader("whole"))
				}
				<-ctx.Done()
				return errors.Join(job.Model.Save("second", strings.NewReader("half")), end)
			})
			running, err := platform.Start(t.Context(), job)
			require.NoError(t, err)
			<-first
			time.Sleep(100 * time.Millisecond) // for the platform to see the end
			running.Stop()
			result, err := running.Wait()
			require.ErrorIs(t, err, platform.ErrStopped)
			require.Equal(t, platform.Stopped, result.SecondaryStatus)
			require.Equal(t, map[string]string{"first": "whole", "second": "half"}, files(t, job.S3, result.ModelArtifacts))
			require.Equal(t, []platform.SecondaryStatus{platform.Starting, platform.Training, platform.Stopping, platform.Stopped}, statuses(result))
		})
	}
}

func TestAnInterruptionIsNotTooLateWhileAHostTrains(t *testing.T) {
	first := make(chan struct{}, 2)
	job := doing(t, 2, func(ctx context.Context, job *algospec.Job) error {
		if job.Host == "algo-1" {
			first <- struct{}{}
			return job.Model.Save("first", strings.NewReader("whole"))
		}
		if job.Getenv("ALGOSPEC_ATTEMPT") == "1" {
			<-ctx.Done()
		}
		return job.Model.Save("second", strings.NewReader("whole"))
	})
	job.Spot = true
	running, err := platform.Start(t.Context(), job)
	require.NoError(t, err)
	<-first
	time.Sleep(100 * time.Millisecond)
	running.Interrupt()
	result, err := running.Wait()
	require.NoError(t, err)
	require.Equal(t, 2, result.Attempts)
}

func statuses(result *platform.Result) (all []platform.SecondaryStatus) {
	for _, tr := range result.Transitions {
		all = append(all, tr.Status)
	}
	return all
}

// Stops come at all moments of short jobs.
func TestNothingButTheEndFollowsStopping(t *testing.T) {
	for i := range 80 {
		job := doing(t, 2, func(ctx context.Context, job *algospec.Job) error {
			return job.Model.Save(job.Host, strings.NewReader("a model"))
		})
		job.Transition = func(platform.Transition) { runtime.Gosched() }
		running, err := platform.Start(t.Context(), job)
		require.NoError(t, err)
		time.Sleep(time.Duration(i) * 100 * time.Microsecond)
		running.Stop()
		result, err := running.Wait()
		all := statuses(result)
		if at := slices.Index(all, platform.Stopping); at >= 0 {
			require.ErrorIs(t, err, platform.ErrStopped, "%v", all)
			require.Equal(t, []platform.SecondaryStatus{platform.Stopping, platform.Stopped}, all[at:])
			continue
		}
		require.NoError(t, err)
	}
}

// Data that break off while the algorithm ends, as it was told to, do not cost it its model.
func TestAStoppedJobKeepsItsModelWhenTheDataBreakOff(t *testing.T) {
	server := newServer(t)
	reading := make(chan struct{})
	job := newJob(t, server)
	job.Stream.ReadAhead = 1 << 16
	job.Trainer = algospec.Bind(func(ctx context.Context, job *algospec.Job, _ struct{}) error {
		pipe, err := os.Open(filepath.Join(job.Getenv("SAGEMAKER_BASE_DIR"), "input/data/train_0"))
		if err != nil {
			return err
		}
		defer pipe.Close()
		if _, err := io.ReadFull(pipe, make([]byte, 10)); err != nil {
			return err
		}
		close(reading)
		<-ctx.Done()
		if err := server.Put("data", "train/part-2", strings.NewReader("another")); err != nil {
			return err
		}
		pipe.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := io.Copy(io.Discard, pipe); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the pipe ended: %w", err)
		}
		return job.Model.Save("partial", strings.NewReader("half a model"))
	})
	running, err := platform.Start(t.Context(), job)
	require.NoError(t, err)
	<-reading
	running.Stop()
	result, err := running.Wait()
	require.ErrorIs(t, err, platform.ErrStopped)
	require.Equal(t, platform.Stopped, result.SecondaryStatus)
	require.Equal(t, map[string]string{"partial": "half a model"}, files(t, job.S3, result.ModelArtifacts))
}

// What stands where the failure file should does not keep the platform waiting, nor is it followed out of the tree.
func TestAFailureFileThatIsNone(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for name, put := range map[string]string{"FIFO": "mkfifo failure", "link": "ln -s " + secret + " failure", "directory": "mkdir failure"} {
		t.Run(name, func(t *testing.T) {
			job := newJob(t, newServer(t))
			job.Trainer, job.Channels = nil, nil
			job.Command, job.Arguments = []string{"sh"}, []string{"-c", "cd $SAGEMAKER_BASE_DIR/output && " + put + "; exit 1"}
			running, err := platform.Start(t.Context(), job)
			require.NoError(t, err)
			select {
			case <-running.Done():
			case <-time.After(time.Minute):
				t.Fatal("it hangs")
			}
			_, err = running.Wait()
			require.EqualError(t, err, "training job job-1 failed: AlgorithmError: , exit code: 1")
		})
	}
}
