package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/aws/smithy-go"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/api"
)

// fakeJobs answers as an api.Service does, from what the tests put in.
type fakeJobs struct {
	mu      sync.Mutex
	jobs    []*fakeJob // newest first
	objects map[string][]byte
	broken  error // of Metrics, LogStreams and OpenObject
	acts    []string
	asked   []int // limits that LogLines was called with
}

type fakeJob struct {
	sagemaker.DescribeTrainingJobOutput
	progress *platform.Progress
	metrics  []platform.Metric
	pictures []algospec.Picture
	streams  []*fakeStream
	output   string
}

type fakeStream struct {
	name, host string
	lines      []platform.Line
}

func refused(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

func (f *fakeJobs) find(name string) (*fakeJob, error) {
	for _, j := range f.jobs {
		if aws.ToString(j.TrainingJobName) == name {
			return j, nil
		}
	}
	return nil, refused("ValidationException", "Requested resource not found.")
}

func (f *fakeJobs) DescribeTrainingJob(_ context.Context, in *sagemaker.DescribeTrainingJobInput) (*sagemaker.DescribeTrainingJobOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(aws.ToString(in.TrainingJobName))
	if err != nil {
		return nil, err
	}
	out := j.DescribeTrainingJobOutput
	out.SecondaryStatusTransitions = slices.Clone(out.SecondaryStatusTransitions)
	return &out, nil
}

// ListTrainingJobs cuts pages before it looks at the status, as the service does.
func (f *fakeJobs) ListTrainingJobs(_ context.Context, in *sagemaker.ListTrainingJobsInput) (*sagemaker.ListTrainingJobsOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.StatusEquals != "" && !slices.Contains(in.StatusEquals.Values(), in.StatusEquals) {
		return nil, refused("ValidationException", "1 validation error detected: Value '"+string(in.StatusEquals)+"' at 'statusEquals' failed to satisfy constraint")
	}
	from, err := strconv.Atoi(aws.ToString(in.NextToken))
	if in.NextToken != nil && (err != nil || from < 0) {
		return nil, refused("ValidationException", "Invalid NextToken.")
	}
	var named []*fakeJob
	for _, j := range f.jobs {
		if strings.Contains(aws.ToString(j.TrainingJobName), aws.ToString(in.NameContains)) {
			named = append(named, j)
		}
	}
	out := &sagemaker.ListTrainingJobsOutput{}
	end := min(len(named), from+int(aws.ToInt32(in.MaxResults)))
	for _, j := range named[min(from, end):end] {
		if in.StatusEquals == "" || in.StatusEquals == j.TrainingJobStatus {
			out.TrainingJobSummaries = append(out.TrainingJobSummaries, types.TrainingJobSummary{
				TrainingJobName: j.TrainingJobName, CreationTime: j.CreationTime, TrainingEndTime: j.TrainingEndTime,
				LastModifiedTime: j.LastModifiedTime, TrainingJobStatus: j.TrainingJobStatus,
			})
		}
	}
	if end < len(named) {
		out.NextToken = aws.String(strconv.Itoa(end))
	}
	return out, nil
}

func (f *fakeJobs) StopTrainingJob(_ context.Context, in *sagemaker.StopTrainingJobInput) (*sagemaker.StopTrainingJobOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(aws.ToString(in.TrainingJobName))
	if err != nil {
		return nil, err
	}
	if j.TrainingJobStatus != "InProgress" {
		return nil, refused("ValidationException", "The request was rejected because the training job is in status "+string(j.TrainingJobStatus)+".")
	}
	f.acts = append(f.acts, "stop "+*in.TrainingJobName)
	j.become("Stopping", "Stopping", "Stopping the training job", time.Now())
	return &sagemaker.StopTrainingJobOutput{}, nil
}

func (f *fakeJobs) Interrupt(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts = append(f.acts, "interrupt "+name)
	return nil
}

func (f *fakeJobs) Progress(name string) (platform.Progress, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(name)
	if err != nil || j.progress == nil {
		return platform.Progress{}, false
	}
	p := *j.progress
	p.Channels = slices.Clone(p.Channels)
	return p, true
}

func (f *fakeJobs) Pictures(name string) ([]algospec.Picture, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(name)
	if err = errors.Join(err, f.broken); err != nil {
		return nil, err
	}
	return slices.Clone(j.pictures), nil
}

func (f *fakeJobs) Metrics(name string) ([]platform.Metric, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(name)
	if err = errors.Join(err, f.broken); err != nil {
		return nil, err
	}
	return slices.Clone(j.metrics), nil
}

func (f *fakeJobs) LogStreams(name string) ([]api.LogStream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(name)
	if err = errors.Join(err, f.broken); err != nil {
		return nil, err
	}
	var all []api.LogStream
	for _, s := range j.streams {
		all = append(all, api.LogStream{Name: s.name, Host: s.host, Lines: len(s.lines)})
	}
	return all, nil
}

func (f *fakeJobs) LogLines(stream string, from, limit int) ([]platform.Line, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, limit)
	for _, j := range f.jobs {
		for _, s := range j.streams {
			if s.name == stream {
				from = min(from, len(s.lines))
				return slices.Clone(s.lines[from:min(len(s.lines), from+limit)]), nil
			}
		}
	}
	return nil, errors.New("no such stream")
}

func (f *fakeJobs) OutputArtifacts(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(name)
	if err != nil {
		return ""
	}
	return j.output
}

func (f *fakeJobs) OpenObject(_ context.Context, uri string) (io.ReadCloser, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil, 0, f.broken
	}
	body, ok := f.objects[uri]
	if !ok {
		return nil, 0, refused("NoSuchKey", "The specified key does not exist.")
	}
	return io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
}

// become has the job go over to a status.
func (j *fakeJob) become(status types.TrainingJobStatus, secondary types.SecondaryStatus, message string, at time.Time) {
	j.TrainingJobStatus, j.SecondaryStatus, j.LastModifiedTime = status, secondary, aws.Time(at)
	if n := len(j.SecondaryStatusTransitions); n > 0 {
		j.SecondaryStatusTransitions[n-1].EndTime = aws.Time(at)
	}
	t := types.SecondaryStatusTransition{Status: secondary, StatusMessage: aws.String(message), StartTime: aws.Time(at)}
	if ended(status) {
		t.EndTime, j.TrainingEndTime, j.progress = aws.Time(at), aws.Time(at), nil
	}
	j.SecondaryStatusTransitions = append(j.SecondaryStatusTransitions, t)
}

// train has a job of several hosts go on: each reads, logs a line and reports its metrics, steps times.
func (f *fakeJobs) train(name string, steps int, every time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.find(name)
	if err != nil {
		panic(err)
	}
	for range steps {
		j.progress.Elapsed += every
		at := j.SecondaryStatusTransitions[0].StartTime.Add(j.progress.Elapsed)
		for i, s := range j.streams {
			n := float64(len(s.lines))
			loss := 0.3 + 2.2/(1+n/150) + 0.05*float64(i) + 0.05*math.Sin(n/7+float64(i))/(1+n/900)
			s.lines = append(s.lines, platform.Line{Host: s.host, Time: at, Text: fmt.Sprintf("[%s] step=%d #quality_metric: host=%s, train msd <loss>=%.6f", at.UTC().Format("01/02/2006 15:04:05"), len(s.lines), s.host, loss)})
			j.metrics = append(j.metrics, platform.Metric{Name: "train:msd", Host: s.host, Value: loss, Time: at},
				platform.Metric{Name: "train:throughput", Host: s.host, Value: 81000 + 9000*float64(i) + 2500*math.Sin(n/31+2*math.Cos(n/97+float64(i))), Time: at})
			if i == 0 {
				j.metrics = append(j.metrics, platform.Metric{Name: "train:progress", Host: s.host, Value: min(100, n/50), Time: at})
				if len(s.lines)%50 == 0 {
					j.metrics = append(j.metrics, platform.Metric{Name: "validation:accuracy", Host: s.host, Value: 1 - loss/4, Time: at})
				}
			}
		}
		for i := range j.progress.Channels {
			c := &j.progress.Channels[i]
			c.Bytes += int64(every.Seconds() * float64(110e6+i*9e6))
			c.Epoch = int((c.Bytes - 1) / c.EpochBytes)
			c.Blocked += every * 7 / 10
			c.Starved += every / 20
		}
	}
}

// breaking opens objects that cannot be read to their end, and do not say how long they are.
type breaking struct{ *fakeJobs }

func (b *breaking) OpenObject(context.Context, string) (io.ReadCloser, int64, error) {
	return brokenBody{io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(io.ErrUnexpectedEOF))}, -1, nil
}

// did returns what was done to jobs.
func (f *fakeJobs) did() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.acts)
}

func (f *fakeJobs) add(j *fakeJob) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs = append([]*fakeJob{j}, f.jobs...)
}

func (f *fakeJobs) remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs = slices.DeleteFunc(f.jobs, func(j *fakeJob) bool { return aws.ToString(j.TrainingJobName) == name })
}

// end has a job be stopped.
func (f *fakeJobs) end(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j, err := f.find(name); err == nil {
		j.become("Stopped", "Stopped", "Training job stopped", time.Now())
	}
}
