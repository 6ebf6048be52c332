package api

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec"
)

// CreateTrainingJob validates the request, records the job and returns; the job then runs.
func (s *Service) CreateTrainingJob(ctx context.Context, in *sagemaker.CreateTrainingJobInput) (*sagemaker.CreateTrainingJobOutput, error) {
	if err := Validate(in); err != nil {
		return nil, err
	}
	name := *in.TrainingJobName
	if err := s.free(name); err != nil {
		return nil, err
	}
	in, err := s.complete(in)
	if err != nil {
		return nil, err
	}
	if err := s.check(ctx, in); err != nil {
		return nil, err
	}
	request, err := Marshal(in)
	if err != nil {
		return nil, internal("training job "+name, err)
	}
	j, err := s.reserve(name)
	if err != nil {
		return nil, err
	}
	tags := tagMap(in.Tags)
	err = s.store.write(
		write{jobsBucket, name, mustJSON(j.record)}, write{requestsBucket, name, request}, write{tagsBucket, j.ARN, tags.text()},
	)
	s.settle(j, err)
	if err != nil {
		return nil, internal("training job "+name, err)
	}
	return &sagemaker.CreateTrainingJobOutput{TrainingJobArn: aws.String(j.ARN)}, nil
}

// complete returns a copy of the request with what it left open: what the algorithm's specification says, the metrics
// of a built-in one, and the documented default of how long a job may run.
func (s *Service) complete(in *sagemaker.CreateTrainingJobInput) (*sagemaker.CreateTrainingJobInput, error) {
	full := *in
	specification, stopping := *in.AlgorithmSpecification, *in.StoppingCondition
	full.AlgorithmSpecification, full.StoppingCondition = &specification, &stopping
	stopping.MaxRuntimeInSeconds = aws.Int32(maxRuntime(in.StoppingCondition))
	name := aws.ToString(in.AlgorithmSpecification.AlgorithmName)
	if name == "" {
		return &full, s.opts.define(&specification)
	}
	a, err := s.algorithm(name)
	if err != nil {
		return nil, err
	}
	return &full, apply(a.TrainingSpecification, &full)
}

// define puts in the metrics of a built-in algorithm, for which the service takes no others; its words are matched by
// programs.
func (o Options) define(a *types.AlgorithmSpecification) error {
	algorithm, err := o.resolve(aws.ToString(a.TrainingImage))
	if err != nil || len(algorithm.Metrics) == 0 {
		return err
	}
	if len(a.MetricDefinitions) > 0 {
		return invalid("You can't override the metric definitions for Amazon SageMaker algorithms. Please retry the request without specifying metric definitions.")
	}
	for _, m := range algorithm.Metrics {
		a.MetricDefinitions = append(a.MetricDefinitions, types.MetricDefinition{Name: aws.String(m.Name), Regex: aws.String(m.Regex)})
	}
	return nil
}

// patience is how long a request waits for S3: clients wait a minute for an answer.
const patience = 50 * time.Second

// check asks the engine, which looks into S3, whether the job could start.
func (s *Service) check(ctx context.Context, in *sagemaker.CreateTrainingJobInput) error {
	job, err := s.opts.Job(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, internal("training job "+job.Name, errors.New("S3 did not answer in time")))
	defer cancel()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	defer context.AfterFunc(s.ctx, func() { leave(errClosed) })()
	select {
	case s.checks <- struct{}{}:
		defer func() { <-s.checks }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch err := s.engine.check(ctx, job); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case algospec.IsClientError(err):
		return invalid("%s", err)
	default:
		return internal("training job "+job.Name, err)
	}
}

// free returns an error where a job has the name. ARNs are in lower case, so names that differ by it only
// are the same.
func (s *Service) free(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freeLocked(name)
}

func (s *Service) freeLocked(name string) error {
	if s.closed {
		return errClosed
	}
	if other := s.arns[s.opts.arn("training-job", name)]; other != nil {
		return clientError(codeInUse, "Training job names must be unique within an AWS account and region, and a training job with this name already exists (%s)", other.ARN)
	}
	return nil
}

// reserve takes the name, and a slot if one is free. The job can be told of once settle has been called.
func (s *Service) reserve(name string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.freeLocked(name); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	j := &job{record: record{Number: s.next, Name: name, ARN: s.opts.arn("training-job", name), Created: now}}
	s.next++
	s.jobs[name], s.arns[j.ARN] = j, j
	if s.busy < s.opts.jobs() && len(s.queue) == 0 {
		s.busy++
		j.enter(types.SecondaryStatusStarting, startingMessage, now)
	} else {
		j.enter(types.SecondaryStatusPending, pendingMessage, now)
	}
	return j, nil
}

// settle says whether the record is kept, and lets the job run if it is.
func (s *Service) settle(j *job, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := j.Secondary == types.SecondaryStatusStarting
	switch {
	case err != nil:
		delete(s.jobs, j.Name)
		delete(s.arns, j.ARN)
		if slot {
			s.busy--
		}
	case slot && !s.closed:
		j.created = true
		s.launch(j)
	default:
		j.created = true
		s.enqueue(j)
		if slot {
			s.busy--
		}
	}
	s.schedule()
}

// find returns a job that may be told of. The caller holds s.mu.
func (s *Service) find(name *string) (*job, error) {
	if j := s.jobs[aws.ToString(name)]; j != nil && j.created {
		return j, nil
	}
	return nil, invalid("Requested resource not found.")
}
