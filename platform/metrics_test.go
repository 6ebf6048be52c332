package platform_test

import (
	"context"
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

// What job.Metrics and job.Progress print on several hosts comes back by the definitions generated beside them.
func TestMetricsComeBackByTheirDefinitions(t *testing.T) {
	job := newJob(t, newServer(t))
	job.InstanceCount = 3
	want := map[string]float64{"train:loss": 0.1, "loss": -1e-300, "val (top 5)": math.MaxFloat64, "train:progress": 75}
	job.Trainer = func(ctx context.Context, job *algospec.Job) error {
		progress := job.Progress("rows", 4)
		progress.Add(3)
		progress.End()
		for name, value := range want {
			if name != "train:progress" {
				job.Metrics(algospec.Metric{Name: name, Value: value + float64(job.Cluster.Rank())}, algospec.Metric{Name: "nan", Value: math.NaN()})
			}
		}
		return job.Model.Save("model", algospec.JSON(nil))
	}
	for _, d := range append(algospec.MetricDefinitions("train:loss", "loss", "val (top 5)", "nan"), algospec.ProgressDefinition) {
		job.MetricDefinitions = append(job.MetricDefinitions, platform.MetricDefinition(d))
	}
	result, err := platform.Run(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, want, result.Metrics)
}

// The algorithm knows the platform's grace, and what it has not saved by the end of that is cut off.
func TestASaveHookKnowsTheGraceAndIsCutOff(t *testing.T) {
	for name, forever := range map[string]bool{"in time": false, "too long": true} {
		t.Run(name, func(t *testing.T) {
			job := newJob(t, newServer(t))
			job.Grace = time.Minute
			if forever {
				job.Grace = 300 * time.Millisecond
			}
			grace := job.Grace
			waiting := make(chan struct{})
			release, saved := make(chan struct{}), make(chan struct{})
			job.Trainer = func(ctx context.Context, job *algospec.Job) error {
				job.OnStop(func(ctx context.Context) error {
					deadline, ok := job.Deadline()
					if until := time.Until(deadline); !ok || until > grace {
						return errors.New("the deadline is too late: " + until.String())
					}
					if forever {
						<-release
					}
					defer close(saved)
					return job.Model.Save("model", algospec.JSON(nil))
				})
				close(waiting)
				<-ctx.Done()
				return context.Cause(ctx)
			}
			running, err := platform.Start(t.Context(), job)
			require.NoError(t, err)
			<-waiting
			running.Stop()
			result, err := running.Wait()
			close(release)
			<-saved
			require.Eventually(t, func() bool { // what a trainer that was left behind has written goes, too
				left, err := os.ReadDir(job.Dir)
				return err == nil && len(left) == 0
			}, time.Minute, time.Millisecond)
			require.Error(t, err)
			require.Equal(t, platform.Stopped, result.SecondaryStatus)
			if forever {
				require.Equal(t, 137, result.Hosts[0].ExitCode)
				require.Empty(t, result.ModelArtifacts)
			} else {
				require.Zero(t, result.Hosts[0].ExitCode)
				require.NotEmpty(t, result.ModelArtifacts)
			}
		})
	}
}
