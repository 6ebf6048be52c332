package api

import (
	"context"
	"math"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

func statuses(out *sagemaker.DescribeTrainingJobOutput) []string {
	var all []string
	for _, t := range out.SecondaryStatusTransitions {
		all = append(all, string(t.Status))
	}
	return all
}

// errFailed is how the engine says that a job failed.
func errFailed(reason string) error { return &platform.FailedError{Job: "job", Reason: reason} }

func TestAJobGoesThroughTheDocumentedStatuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		run    func(r *scripted) (*platform.Result, error)
		want   []string
		status types.TrainingJobStatus
	}{
		{"it completes", func(r *scripted) (*platform.Result, error) {
			for _, s := range []platform.SecondaryStatus{platform.Starting, platform.Downloading, platform.Training, platform.Uploading, platform.Completed} {
				r.enter(s)
			}
			return &platform.Result{SecondaryStatus: platform.Completed}, nil
		}, []string{"Starting", "Downloading", "Training", "Uploading", "Completed"}, types.TrainingJobStatusCompleted},
		{"it fails", func(r *scripted) (*platform.Result, error) {
			r.enter(platform.Starting)
			r.enter(platform.Training)
			r.enter(platform.Failed)
			return &platform.Result{}, errFailed("AlgorithmError: no, exit code: 1")
		}, []string{"Starting", "Training", "Failed"}, types.TrainingJobStatusFailed},
		{"it is interrupted", func(r *scripted) (*platform.Result, error) {
			for _, s := range []platform.SecondaryStatus{platform.Starting, platform.Training, platform.Interrupted, platform.Starting, platform.Training, platform.Uploading} {
				r.enter(s)
			}
			return &platform.Result{}, nil
		}, []string{"Starting", "Training", "Interrupted", "Starting", "Training", "Uploading", "Completed"}, types.TrainingJobStatusCompleted},
		{"it runs too long", func(r *scripted) (*platform.Result, error) {
			r.enter(platform.Starting)
			r.enter(platform.Training)
			r.enter(platform.Stopping)
			r.enter(platform.Uploading)
			return &platform.Result{SecondaryStatus: platform.MaxRuntimeExceeded}, platform.ErrStopped
		}, []string{"Starting", "Training", "Stopping", "MaxRuntimeExceeded"}, types.TrainingJobStatusStopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t, &script{run: c.run})
			create(t, s, request("job"))
			out := ended(t, s, "job")
			require.Equal(t, c.want, statuses(out))
			require.Equal(t, c.status, out.TrainingJobStatus)
			require.Equal(t, c.want[len(c.want)-1], string(out.SecondaryStatus))
			for i, transition := range out.SecondaryStatusTransitions {
				require.NotNil(t, transition.EndTime, transition.Status)
				require.False(t, transition.EndTime.Before(*transition.StartTime))
				if i > 0 {
					require.Equal(t, out.SecondaryStatusTransitions[i-1].EndTime, transition.StartTime, "there is no gap")
				}
			}
			require.False(t, out.TrainingEndTime.Before(*out.TrainingStartTime))
			require.WithinDuration(t, time.Now(), *out.CreationTime, time.Minute)
			if c.status == types.TrainingJobStatusFailed {
				require.Equal(t, "AlgorithmError: no, exit code: 1", *out.FailureReason)
			} else {
				require.Nil(t, out.FailureReason)
			}
			require.Equal(t, "s3://data/models/job/output/model.tar.gz", *out.ModelArtifacts.S3ModelArtifacts)
		})
	}
}

func TestARunningJobIsStopped(t *testing.T) {
	s := newService(t, &script{run: untilStopped})
	create(t, s, request("job"))
	await(t, s, "job", in(types.SecondaryStatusTraining))
	_, err := s.StopTrainingJob(t.Context(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String("job")})
	require.NoError(t, err)
	require.Equal(t, []string{"Starting", "Training", "Stopping", "Stopped"}, statuses(ended(t, s, "job")))
	_, err = s.StopTrainingJob(t.Context(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String("job")})
	require.EqualError(t, err, "api error ValidationException: The request was rejected because the training job is in status Stopped.")
}

// silent is an S3 that takes connections and answers nothing.
func silent(t *testing.T) *s3.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return s3.NewFromConfig(config("http://"+listener.Addr().String(), "any", "thing"), func(o *s3.Options) { o.HTTPClient = client })
}

func TestAJobIsStoppedWhileItsStartWaitsForS3(t *testing.T) {
	starts := theEngine
	starts.check = func(context.Context, platform.Job) error { return nil }
	opts := Options{Dir: t.TempDir(), Resolve: resolve, S3: silent(t), Jobs: 2}
	s, err := open(opts, starts)
	require.NoError(t, err)
	create(t, s, request("stopped"))
	create(t, s, request("closed"))
	_, err = s.StopTrainingJob(t.Context(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String("stopped")})
	require.NoError(t, err)
	require.Equal(t, []string{"Starting", "Stopping", "Stopped"}, statuses(ended(t, s, "stopped")))
	require.NoError(t, s.Close())
	again := newService(t, &script{}, func(o *Options) { o.Dir = opts.Dir })
	require.Equal(t, []string{"Starting", "Stopping", "Stopped"}, statuses(ended(t, again, "closed")))
}

func TestACreateThatWaitsForS3(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir(), Resolve: resolve, S3: silent(t)})
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() {
		_, err := s.CreateTrainingJob(t.Context(), request("job"))
		waiting <- err
	}()
	require.Eventually(t, func() bool { return len(s.checks) == 1 }, waitLimit, tick)
	require.NoError(t, s.Close())
	select {
	case err := <-waiting:
		require.Equal(t, errClosed, err, "it ends with the platform")
	case <-time.After(waitLimit):
		t.Fatal("it waits for ever")
	}
}

// A float32, as the answer has it, has not the range of the values in a log.
func TestAMetricBeyondAFloat32(t *testing.T) {
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		r.Metric(platform.Metric{Name: "loss", Value: 1e300, Time: time.Now()})
		return &platform.Result{Metrics: map[string]float64{"gain": -1e39}}, nil
	}})
	create(t, s, request("job"))
	out := ended(t, s, "job")
	_, err := Marshal(out)
	require.NoError(t, err)
	require.Len(t, out.FinalMetricDataList, 2)
	require.Equal(t, []float32{-math.MaxFloat32, math.MaxFloat32}, []float32{*out.FinalMetricDataList[0].Value, *out.FinalMetricDataList[1].Value})
}

// A log that cannot be removed leaves the job as it was.
func TestAJobIsDeletedWholeOrNot(t *testing.T) {
	s := newService(t, &script{})
	create(t, s, request("job"))
	ended(t, s, "job")
	in := &sagemaker.DeleteTrainingJobInput{TrainingJobName: aws.String("job")}
	logs := s.lines.dir
	s.lines.dir = "no\x00directory"
	_, err := s.DeleteTrainingJob(t.Context(), in)
	require.ErrorContains(t, err, "InternalFailure: DeleteTrainingJob: ")
	ended(t, s, "job")
	s.lines.dir = logs
	_, err = s.DeleteTrainingJob(t.Context(), in)
	require.NoError(t, err)
}

// MaxWait is of the job from its creation on: what it waited for a slot is part of it.
func TestMaxWaitPassesWhileAJobIsPending(t *testing.T) {
	leave := make(chan struct{})
	var wait time.Duration
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		if r.Name == "first" {
			<-leave
		} else {
			wait = r.MaxWait
		}
		return &platform.Result{}, nil
	}}, func(o *Options) { o.Jobs = 1 })
	create(t, s, request("first"))
	in := request("second")
	in.EnableManagedSpotTraining, in.StoppingCondition.MaxWaitTimeInSeconds = aws.Bool(true), aws.Int32(3600)
	create(t, s, in)
	s.mu.Lock()
	s.jobs["second"].Created = time.Now().Add(-20 * time.Minute)
	s.mu.Unlock()
	close(leave)
	ended(t, s, "second")
	require.InDelta(t, 40*time.Minute, wait, float64(5*time.Minute)) // and not 60
}

func TestAJobThatNeverStartedHasNoTrainingEndTime(t *testing.T) {
	s := newService(t, &script{run: untilStopped}, func(o *Options) { o.Jobs = 1 })
	create(t, s, request("runs"))
	create(t, s, request("waits"))
	_, err := s.StopTrainingJob(t.Context(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String("waits")})
	require.NoError(t, err)
	require.Nil(t, ended(t, s, "waits").TrainingEndTime)
	list, err := s.ListTrainingJobs(t.Context(), &sagemaker.ListTrainingJobsInput{NameContains: aws.String("waits")})
	require.NoError(t, err)
	require.Len(t, list.TrainingJobSummaries, 1)
	require.Nil(t, list.TrainingJobSummaries[0].TrainingEndTime)
}
