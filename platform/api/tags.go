package api

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

// A tagTable is tags by key.
type tagTable map[string]string

func tagMap(tags []types.Tag) tagTable {
	t := tagTable{}
	for _, tag := range tags {
		t[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return t
}

func (t tagTable) text() []byte { return mustJSON(t) }

func parseTags(text []byte) (tagTable, error) {
	t := tagTable{}
	if text == nil {
		return t, nil
	}
	err := json.Unmarshal(text, &t)
	return t, err
}

func (t tagTable) list() []types.Tag {
	tags := []types.Tag{}
	for _, key := range sortedKeys(t) {
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(t[key])})
	}
	return tags
}

// maxTags is how many tags a resource may have.
const maxTags = 50

// AddTags adds tags to a training job or an algorithm, or changes their values.
func (s *Service) AddTags(ctx context.Context, in *sagemaker.AddTagsInput) (*sagemaker.AddTagsOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	var r rules
	r.tags(in.Tags)
	if err := r.err(); err != nil {
		return nil, err
	}
	tags, err := s.retag(*in.ResourceArn, func(t tagTable) error {
		maps.Copy(t, tagMap(in.Tags))
		if len(t) > maxTags {
			return invalid("The resource would have %d tags; at most %d are allowed.", len(t), maxTags)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &sagemaker.AddTagsOutput{Tags: tags.list()}, nil
}

// DeleteTags removes tags.
func (s *Service) DeleteTags(ctx context.Context, in *sagemaker.DeleteTagsInput) (*sagemaker.DeleteTagsOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	_, err := s.retag(*in.ResourceArn, func(t tagTable) error {
		for _, key := range in.TagKeys {
			delete(t, key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &sagemaker.DeleteTagsOutput{}, nil
}

// ListTags returns a page of a resource's tags, by key.
func (s *Service) ListTags(ctx context.Context, in *sagemaker.ListTagsInput) (*sagemaker.ListTagsOutput, error) {
	if err := checkLimits(in); err != nil {
		return nil, err
	}
	s.tagging.Lock()
	defer s.tagging.Unlock()
	tags, err := s.tags(*in.ResourceArn)
	if err != nil {
		return nil, err
	}
	all := tags.list()
	if in.NextToken != nil {
		var after string
		if err := parseToken(*in.NextToken, &after); err != nil {
			return nil, err
		}
		for len(all) > 0 && *all[0].Key <= after {
			all = all[1:]
		}
	}
	out := &sagemaker.ListTagsOutput{Tags: all}
	if most := int(aws.ToInt32(in.MaxResults)); most > 0 && most < len(all) {
		out.Tags = all[:most]
		out.NextToken = token(*all[most-1].Key)
	}
	return out, nil
}

// retag changes the tags of a resource and returns them.
func (s *Service) retag(arn string, change func(tagTable) error) (tagTable, error) {
	s.tagging.Lock()
	defer s.tagging.Unlock()
	tags, err := s.tags(arn)
	if err != nil {
		return nil, err
	}
	if err := change(tags); err != nil {
		return nil, err
	}
	if err := s.store.write(write{tagsBucket, strings.ToLower(arn), tags.text()}); err != nil {
		return nil, internal("tags of "+arn, err)
	}
	return tags, nil
}

// tags reads the tags of a job or an algorithm that there is.
func (s *Service) tags(arn string) (tagTable, error) {
	arn = strings.ToLower(arn)
	s.mu.Lock()
	j := s.arns[arn]
	there := (j != nil && j.created) || s.algorithmByARN(arn) != nil
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if !there {
		return nil, invalid("Requested resource not found.")
	}
	text, err := s.store.read(tagsBucket, arn)
	if err != nil {
		return nil, internal("tags of "+arn, err)
	}
	tags, err := parseTags(text)
	if err != nil {
		return nil, internal("tags of "+arn, err)
	}
	return tags, nil
}
