package api

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("ALGOSPEC_TEST_PLATFORM"); dir != "" {
		child(dir)
	}
	if words := strings.Split(os.Getenv("ALGOSPEC_TEST_STEPPER"), "\n"); len(words) == 4 {
		retries, _ := strconv.Atoi(words[3])
		stepperPlatform(words[0], words[1], words[2], int32(retries))
	}
	leaks.Main(m)
}

// A script is an engine that does what a test says.
type script struct {
	check func(platform.Job) error
	run   func(*scripted) (*platform.Result, error) // nil succeeds at once

	mu     sync.Mutex
	order  []string
	now    int // that run
	most   int // that ran at once
	checks int
}

// A scripted is a job of a script.
type scripted struct {
	platform.Job
	stop, interrupt chan struct{}
	once, onceMore  sync.Once
	done            chan struct{}
	result          *platform.Result
	err             error
}

func (s *scripted) Stop()                           { s.once.Do(func() { close(s.stop) }) }
func (s *scripted) Interrupt()                      { s.onceMore.Do(func() { close(s.interrupt) }) }
func (s *scripted) Wait() (*platform.Result, error) { <-s.done; return s.result, s.err }
func (s *scripted) Progress() platform.Progress     { return platform.Progress{Downloaded: 7} }
func (s *scripted) enter(status platform.SecondaryStatus) {
	s.Transition(platform.Transition{Status: status, Message: "now " + string(status), Start: time.Now()})
}

func (e *script) engine() engine {
	return engine{
		start: func(_ context.Context, job platform.Job) (running, error) {
			r := &scripted{Job: job, stop: make(chan struct{}), interrupt: make(chan struct{}), done: make(chan struct{})}
			e.mu.Lock()
			e.order = append(e.order, job.Name)
			e.now++
			e.most = max(e.most, e.now)
			e.mu.Unlock()
			go func() {
				defer close(r.done)
				r.result, r.err = &platform.Result{}, nil
				if e.run != nil {
					r.result, r.err = e.run(r)
				}
				e.mu.Lock()
				e.now--
				e.mu.Unlock()
			}()
			return r, nil
		},
		check: func(_ context.Context, job platform.Job) error {
			e.mu.Lock()
			e.checks++
			e.mu.Unlock()
			if e.check != nil {
				return e.check(job)
			}
			return nil
		},
	}
}

// untilStopped is a job that runs until it is stopped.
func untilStopped(r *scripted) (*platform.Result, error) {
	r.enter(platform.Starting)
	r.enter(platform.Training)
	<-r.stop
	return &platform.Result{}, fmt.Errorf("%w: asked to", platform.ErrStopped)
}

func resolve(image string) (Algorithm, error) {
	if image == "unknown" {
		return Algorithm{}, errors.New("no such image")
	}
	return Algorithm{Command: []string{"true"}, Environment: map[string]string{"IMAGE": image}}, nil
}

// newService opens a service in a directory of its own.
func newService(t *testing.T, e *script, change ...func(*Options)) *Service {
	t.Helper()
	opts := Options{Dir: filepath.Join(t.TempDir(), "platform"), Resolve: resolve}
	for _, c := range change {
		c(&opts)
	}
	s, err := open(opts, e.engine())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// request is a small valid request.
func request(name string) *sagemaker.CreateTrainingJobInput {
	return &sagemaker.CreateTrainingJobInput{
		TrainingJobName: aws.String(name),
		RoleArn:         aws.String("arn:aws:iam::000000000000:role/training"),
		AlgorithmSpecification: &types.AlgorithmSpecification{
			TrainingImage: aws.String("pca"), TrainingInputMode: types.TrainingInputModePipe,
		},
		InputDataConfig:   []types.Channel{channel("train")},
		OutputDataConfig:  &types.OutputDataConfig{S3OutputPath: aws.String("s3://data/models")},
		ResourceConfig:    &types.ResourceConfig{InstanceType: types.TrainingInstanceTypeMlM5Large, InstanceCount: aws.Int32(1), VolumeSizeInGB: aws.Int32(10)},
		StoppingCondition: &types.StoppingCondition{MaxRuntimeInSeconds: aws.Int32(3600)},
	}
}

func channel(name string) types.Channel {
	return types.Channel{ChannelName: aws.String(name), DataSource: &types.DataSource{S3DataSource: &types.S3DataSource{
		S3DataType: types.S3DataTypeS3Prefix, S3Uri: aws.String("s3://data/" + name + "/"),
	}}}
}

// ended waits until a job has ended, and returns what is told of it.
func ended(t *testing.T, s *Service, name string) *sagemaker.DescribeTrainingJobOutput {
	t.Helper()
	return await(t, s, name, func(out *sagemaker.DescribeTrainingJobOutput) bool {
		return out.TrainingJobStatus != types.TrainingJobStatusInProgress && out.TrainingJobStatus != types.TrainingJobStatusStopping
	})
}

func await(t *testing.T, s *Service, name string, until func(*sagemaker.DescribeTrainingJobOutput) bool) (out *sagemaker.DescribeTrainingJobOutput) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		out, err = s.DescribeTrainingJob(t.Context(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String(name)})
		require.NoError(t, err)
		return until(out)
	}, waitLimit, tick)
	return out
}

func in(status types.SecondaryStatus) func(*sagemaker.DescribeTrainingJobOutput) bool {
	return func(out *sagemaker.DescribeTrainingJobOutput) bool { return out.SecondaryStatus == status }
}

// serve serves a service's handler.
func serve(t *testing.T, s *Service) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server
}

func create(t *testing.T, s *Service, in *sagemaker.CreateTrainingJobInput) {
	t.Helper()
	_, err := s.CreateTrainingJob(t.Context(), in)
	require.NoError(t, err)
}

const (
	waitLimit = time.Minute
	tick      = 2 * time.Millisecond
)
