package api

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

// ListTrainingJobs returns a page of jobs. StatusEquals is applied after the page is cut, as the
// service's documents say, so that pages may be short.
func (s *Service) ListTrainingJobs(ctx context.Context, in *sagemaker.ListTrainingJobsInput) (*sagemaker.ListTrainingJobsOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	all, err := s.filter(in)
	if err != nil {
		return nil, err
	}
	page, next, err := cut(all, jobOrder(in.SortBy), in.SortOrder == types.SortOrderDescending, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	page = slices.DeleteFunc(page, func(r record) bool { return in.StatusEquals != "" && r.Status != in.StatusEquals })
	out := &sagemaker.ListTrainingJobsOutput{TrainingJobSummaries: []types.TrainingJobSummary{}, NextToken: next}
	for _, r := range page {
		summary := types.TrainingJobSummary{
			TrainingJobName: aws.String(r.Name), TrainingJobArn: aws.String(r.ARN),
			TrainingJobStatus: r.Status, SecondaryStatus: r.Secondary,
			CreationTime: instant(r.Created), LastModifiedTime: instant(r.Modified), TrainingEndTime: r.trainingEnd(),
		}
		out.TrainingJobSummaries = append(out.TrainingJobSummaries, summary)
	}
	return out, nil
}

// filter returns the jobs that a request asks for, whatever their status.
func (s *Service) filter(in *sagemaker.ListTrainingJobsInput) ([]record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if in.TrainingPlanArnEquals != nil || in.WarmPoolStatusEquals != "" { // there are neither here
		return nil, nil
	}
	var all []record
	for _, j := range s.jobs {
		if j.created && strings.Contains(j.Name, aws.ToString(in.NameContains)) &&
			between(j.Created, in.CreationTimeAfter, in.CreationTimeBefore) &&
			between(j.Modified, in.LastModifiedTimeAfter, in.LastModifiedTimeBefore) {
			r := j.record
			r.Transitions = nil // which change, and which no list tells
			all = append(all, r)
		}
	}
	return all, nil
}

// jobOrder is the order of a list of jobs, by the time of creation unless asked otherwise.
func jobOrder(by types.SortBy) func(record) place {
	switch by {
	case types.SortByName:
		return func(r record) place { return place{Name: r.Name} }
	case types.SortByStatus:
		return func(r record) place { return place{Key: string(r.Status), Name: r.Name} }
	}
	return func(r record) place { return place{Key: r.Created.UTC().Format(sortableTime), Name: r.Name} }
}
