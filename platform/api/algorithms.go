package api

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

// An algorithm is one that CreateAlgorithm made. It never changes.
type algorithm struct {
	*sagemaker.CreateAlgorithmInput
	arn     string
	created time.Time
}

// algorithmRecord is how an algorithm is kept.
type algorithmRecord struct {
	ARN     string
	Created time.Time
	Request json.RawMessage // CreateAlgorithm's body
}

func (s *Service) recoverAlgorithms() error {
	return s.store.each(algorithmsBucket, func(name string, text []byte) error {
		var r algorithmRecord
		if err := json.Unmarshal(text, &r); err != nil {
			return err
		}
		in := new(sagemaker.CreateAlgorithmInput)
		if err := Unmarshal(r.Request, in); err != nil {
			return err
		}
		s.algorithms[strings.ToLower(name)] = &algorithm{in, r.ARN, r.Created}
		return nil
	})
}

// algorithm finds an algorithm by its name or ARN.
func (s *Service) algorithm(nameOrARN string) (*algorithm, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(nameOrARN, "arn:") {
		if a := s.algorithmByARN(strings.ToLower(nameOrARN)); a != nil {
			return a, nil
		}
	} else if a := s.algorithms[strings.ToLower(nameOrARN)]; a != nil {
		return a, nil
	}
	return nil, invalid("Algorithm %s does not exist.", nameOrARN)
}

// algorithmByARN returns nil where there is none. The caller holds s.mu.
func (s *Service) algorithmByARN(arn string) *algorithm {
	_, name, _ := cutLast(arn, "/")
	if a := s.algorithms[name]; a != nil && a.arn == arn {
		return a
	}
	return nil
}

// CreateAlgorithm records the specification of an algorithm. Jobs that name it are held against it.
func (s *Service) CreateAlgorithm(ctx context.Context, in *sagemaker.CreateAlgorithmInput) (*sagemaker.CreateAlgorithmOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	var r rules
	r.tags(in.Tags)
	if err := cmp.Or(checkSpecification(in.TrainingSpecification), r.err()); err != nil {
		return nil, err
	}
	request, err := Marshal(in)
	if err != nil {
		return nil, internal("algorithm "+*in.AlgorithmName, err)
	}
	in = new(sagemaker.CreateAlgorithmInput) // a copy that the caller does not hold
	if err := Unmarshal(request, in); err != nil {
		return nil, internal("algorithm", err)
	}
	a := &algorithm{in, s.opts.arn("algorithm", *in.AlgorithmName), time.Now().UTC()}

	s.creating.Lock()
	defer s.creating.Unlock()
	if err := s.algorithmFree(a); err != nil {
		return nil, err
	}
	record := algorithmRecord{a.arn, a.created, request}
	err = s.store.write(write{algorithmsBucket, *in.AlgorithmName, mustJSON(record)}, write{tagsBucket, a.arn, tagMap(in.Tags).text()})
	if err != nil {
		return nil, internal("algorithm "+*in.AlgorithmName, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.algorithms[strings.ToLower(*in.AlgorithmName)] = a
	return &sagemaker.CreateAlgorithmOutput{AlgorithmArn: aws.String(a.arn)}, nil
}

func (s *Service) algorithmFree(a *algorithm) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if s.algorithms[strings.ToLower(*a.AlgorithmName)] != nil {
		return invalid("Algorithm names must be unique within an AWS account and region, and an algorithm with this name already exists (%s)", a.arn)
	}
	return nil
}

// DescribeAlgorithm returns what CreateAlgorithm was given.
func (s *Service) DescribeAlgorithm(ctx context.Context, in *sagemaker.DescribeAlgorithmInput) (*sagemaker.DescribeAlgorithmOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	a, err := s.algorithm(*in.AlgorithmName)
	if err != nil {
		return nil, err
	}
	out := &sagemaker.DescribeAlgorithmOutput{
		AlgorithmArn: aws.String(a.arn), AlgorithmStatus: types.AlgorithmStatusCompleted,
		AlgorithmStatusDetails: &types.AlgorithmStatusDetails{}, CreationTime: aws.Time(a.created),
	}
	echo(out, a.CreateAlgorithmInput)
	return out, nil
}

// DeleteAlgorithm forgets an algorithm. Jobs that were created with it are not affected.
func (s *Service) DeleteAlgorithm(ctx context.Context, in *sagemaker.DeleteAlgorithmInput) (*sagemaker.DeleteAlgorithmOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	s.creating.Lock()
	defer s.creating.Unlock()
	a, err := s.algorithm(*in.AlgorithmName)
	if err != nil {
		return nil, err
	}
	if err := s.store.write(write{algorithmsBucket, *a.AlgorithmName, nil}, write{tagsBucket, a.arn, nil}); err != nil {
		return nil, internal("algorithm "+*a.AlgorithmName, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.algorithms, strings.ToLower(*a.AlgorithmName))
	return &sagemaker.DeleteAlgorithmOutput{}, nil
}

// ListAlgorithms returns a page of algorithms.
func (s *Service) ListAlgorithms(ctx context.Context, in *sagemaker.ListAlgorithmsInput) (*sagemaker.ListAlgorithmsOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	var all []*algorithm
	for _, a := range s.algorithms {
		if strings.Contains(*a.AlgorithmName, aws.ToString(in.NameContains)) && between(a.created, in.CreationTimeAfter, in.CreationTimeBefore) {
			all = append(all, a)
		}
	}
	s.mu.Unlock()
	order := func(a *algorithm) place {
		return place{Key: a.created.UTC().Format(sortableTime), Name: *a.AlgorithmName}
	}
	if in.SortBy == types.AlgorithmSortByName {
		order = func(a *algorithm) place { return place{Name: *a.AlgorithmName} }
	}
	page, next, err := cut(all, order, in.SortOrder == types.SortOrderDescending, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	out := &sagemaker.ListAlgorithmsOutput{AlgorithmSummaryList: []types.AlgorithmSummary{}, NextToken: next}
	for _, a := range page {
		out.AlgorithmSummaryList = append(out.AlgorithmSummaryList, types.AlgorithmSummary{
			AlgorithmArn: aws.String(a.arn), AlgorithmName: a.AlgorithmName, AlgorithmDescription: a.AlgorithmDescription,
			AlgorithmStatus: types.AlgorithmStatusCompleted, CreationTime: aws.Time(a.created),
		})
	}
	return out, nil
}
