package api

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3stream"
)

// A LogStream is the log of one host of a job.
type LogStream struct {
	Name        string // <job>/algo-N-<epoch seconds>
	Host        string
	First, Last time.Time // of its lines; zero without any
	Lines       int       // how many there are
}

// LogStreams returns the log streams of a job, by name.
func (s *Service) LogStreams(name string) ([]LogStream, error) {
	if _, err := s.record(&name); err != nil {
		return nil, err
	}
	names, err := s.lines.names(name)
	if err != nil {
		return nil, fmt.Errorf("log of training job %s: %w", name, err)
	}
	return s.lines.summaries(names)
}

// LogLines returns up to limit lines of a log stream from line number from on, counted from 0. It may
// return fewer where they are long; none is the end.
func (s *Service) LogLines(name string, from, limit int) (lines []platform.Line, err error) {
	found, err := s.lines.with(name, func(open *stream) error {
		lines, err = open.read(int64(from), limit, maxEvents)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("log stream %s: %w", name, err)
	}
	if !found {
		return nil, invalid("The specified log stream does not exist.")
	}
	return lines, nil
}

// Metrics returns every value scraped from a job's log, in the order of time. They are not to be changed.
func (s *Service) Metrics(name string) ([]platform.Metric, error) {
	if _, err := s.record(&name); err != nil {
		return nil, err
	}
	points, err := s.lines.points(name)
	if err != nil {
		return nil, fmt.Errorf("metrics of training job %s: %w", name, err)
	}
	return points, nil
}

// OpenObject opens an object of S3, such as a model.tar.gz, for the page's downloads.
func (s *Service) OpenObject(ctx context.Context, uri string) (body io.ReadCloser, size int64, err error) {
	bucket, key, err := s3stream.ParseURI(uri)
	if err != nil {
		return nil, 0, invalid("%s: %v", uri, err)
	}
	out, err := s.opts.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", uri, err)
	}
	return out.Body, aws.ToInt64(out.ContentLength), nil
}
