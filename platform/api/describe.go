package api

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/platform"
)

// DescribeTrainingJob returns what is known of a job.
func (s *Service) DescribeTrainingJob(ctx context.Context, in *sagemaker.DescribeTrainingJobInput) (*sagemaker.DescribeTrainingJobOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	r, err := s.record(in.TrainingJobName)
	if err != nil {
		return nil, err
	}
	request, err := s.request(r.Name)
	if err != nil {
		return nil, internal("DescribeTrainingJob", err)
	}
	out := new(sagemaker.DescribeTrainingJobOutput)
	echo(out, request)
	if request.AlgorithmSpecification.AlgorithmName != nil {
		out.AlgorithmSpecification.TrainingImage = nil // which the algorithm gave
	}
	r.tell(out)
	return out, nil
}

// record returns a copy of a job's record.
func (s *Service) record(name *string) (record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return record{}, errClosed
	}
	j, err := s.find(name)
	if err != nil {
		return record{}, err
	}
	return j.clone(), nil
}

// echo copies the members that an answer has in common with a request.
func echo(answer, request any) {
	to, from := reflect.ValueOf(answer).Elem(), reflect.ValueOf(request).Elem()
	for _, field := range shapeFields(from.Type()) {
		if f := to.FieldByName(field.Name); f.IsValid() && f.Type() == field.Type {
			f.Set(from.FieldByIndex(field.Index))
		}
	}
}

// tell says in an answer what became of the job.
func (r *record) tell(out *sagemaker.DescribeTrainingJobOutput) {
	out.TrainingJobArn = aws.String(r.ARN)
	out.TrainingJobStatus, out.SecondaryStatus = r.Status, r.Secondary
	out.ModelArtifacts = &types.ModelArtifacts{S3ModelArtifacts: aws.String(r.model(out))}
	out.CreationTime, out.LastModifiedTime = instant(r.Created), instant(r.Modified)
	out.TrainingStartTime, out.TrainingEndTime = instant(r.Started), r.trainingEnd()
	if r.FailureReason != "" {
		out.FailureReason = aws.String(r.FailureReason)
	}
	out.TrainingTimeInSeconds, out.BillableTimeInSeconds = wholeSeconds(r.TrainingTime), wholeSeconds(r.BillableTime)
	for _, t := range r.Transitions {
		transition := types.SecondaryStatusTransition{Status: types.SecondaryStatus(t.Status), StartTime: instant(t.Start), EndTime: instant(t.End)}
		if t.Message != "" {
			transition.StatusMessage = aws.String(t.Message)
		}
		out.SecondaryStatusTransitions = append(out.SecondaryStatusTransitions, transition)
	}
	for _, m := range r.FinalMetrics {
		out.FinalMetricDataList = append(out.FinalMetricDataList, types.MetricData{
			MetricName: aws.String(m.Name), Value: aws.Float32(single(m.Value)), Timestamp: instant(m.Time),
		})
	}
}

// trainingEnd is when a job ended that has started; there is nothing to bill of another.
func (r *record) trainingEnd() *time.Time {
	if r.Started.IsZero() {
		return nil
	}
	return instant(r.Ended)
}

// single is the float32 next to a value: one beyond them is the greatest, as JSON has no infinity.
func single(value float64) float32 {
	return float32(min(max(value, -math.MaxFloat32), math.MaxFloat32))
}

// model is where the model is, or would be: the member is always there (container contract, 4.3 and 4.5).
func (r *record) model(out *sagemaker.DescribeTrainingJobOutput) string {
	if r.ModelArtifacts != "" {
		return r.ModelArtifacts
	}
	name := "model.tar.gz"
	if out.OutputDataConfig.CompressionType == types.OutputCompressionTypeNone {
		name = "model/"
	}
	return strings.TrimSuffix(aws.ToString(out.OutputDataConfig.S3OutputPath), "/") + "/" + r.Name + "/output/" + name
}

// instant is a time in an answer, nil before it has come.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// StopTrainingJob tells a job to stop and returns at once.
func (s *Service) StopTrainingJob(ctx context.Context, in *sagemaker.StopTrainingJobInput) (*sagemaker.StopTrainingJobOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	j, err := s.find(in.TrainingJobName)
	if err == nil && s.closed {
		err = errClosed
	}
	if err == nil && (j.finished() || j.Status == types.TrainingJobStatusStopping) {
		err = invalid("The request was rejected because the training job is in status %s.", j.Status)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.stop(j)
	s.mu.Unlock()
	if err := s.keep(j); err != nil {
		return nil, internal("StopTrainingJob", err)
	}
	return &sagemaker.StopTrainingJobOutput{}, nil
}

// stop tells a job to stop: one that waits is Stopped. The caller holds s.mu, and keeps the record after it.
func (s *Service) stop(j *job) {
	if j.finished() || j.StopAsked {
		return
	}
	now := time.Now().UTC()
	j.StopAsked = true
	j.version++
	if !j.active {
		s.queue = slices.DeleteFunc(s.queue, func(o *job) bool { return o == j })
		j.enter(types.SecondaryStatusStopped, stoppedMessage, now)
		return
	}
	j.enter(types.SecondaryStatusStopping, stoppingMessage, now)
	switch {
	case j.running != nil:
		j.running.Stop()
	case j.starting != nil:
		j.starting()
	}
}

// DeleteTrainingJob forgets a job that has ended, with its log. Its name is free then; what it stored in S3 stays.
func (s *Service) DeleteTrainingJob(ctx context.Context, in *sagemaker.DeleteTrainingJobInput) (*sagemaker.DeleteTrainingJobOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	j, err := s.find(in.TrainingJobName)
	switch {
	case s.closed:
		err = errClosed
	case err == nil && (!j.finished() || j.active):
		err = clientError(codeInUse, "The training job is in status %s; only one that has ended can be deleted.", j.Status)
	}
	if err == nil {
		j.created = false // nobody finds it any more, and its name is not free yet
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	j.writing.Lock()
	err = s.lines.remove(j.Name) // first, so that no later job of this name has this one's log
	if err == nil {
		err = s.store.write(write{jobsBucket, j.Name, nil}, write{requestsBucket, j.Name, nil}, write{tagsBucket, j.ARN, nil})
	}
	j.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		j.created = true
		return nil, internal("DeleteTrainingJob", err)
	}
	delete(s.jobs, j.Name)
	delete(s.arns, j.ARN)
	return &sagemaker.DeleteTrainingJobOutput{}, nil
}

// Interrupt takes a running job's instances away, as happens to spot instances.
func (s *Service) Interrupt(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(&name)
	if err != nil {
		return err
	}
	if j.running == nil {
		return invalid("The request was rejected because the training job is in status %s and does not run.", j.Status)
	}
	j.running.Interrupt()
	return nil
}

// Progress returns how far a running job is; false where it does not run.
func (s *Service) Progress(name string) (platform.Progress, bool) {
	s.mu.Lock()
	j := s.jobs[name]
	var r running
	if j != nil {
		r = j.running
	}
	s.mu.Unlock()
	if r == nil {
		return platform.Progress{}, false
	}
	return r.Progress(), true
}

// OutputArtifacts returns the S3 URI of a job's output.tar.gz, which DescribeTrainingJob does not tell; "" where there is none.
func (s *Service) OutputArtifacts(name string) string {
	r, err := s.record(&name)
	if err != nil {
		return ""
	}
	return r.OutputArtifacts
}
