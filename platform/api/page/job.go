package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/smithy-go"
)

var errNoJob = &problem{http.StatusNotFound, "There is no training job of this name."}

// describe returns errNoJob where there is none: the service calls that a ValidationException.
func (p *pages) describe(ctx context.Context, name string) (*sagemaker.DescribeTrainingJobOutput, error) {
	job, err := p.jobs.DescribeTrainingJob(ctx, &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String(name)})
	var coded smithy.APIError
	if errors.As(err, &coded) && (coded.ErrorCode() == "ValidationException" || coded.ErrorCode() == "ResourceNotFound") {
		return nil, errNoJob
	}
	return job, err
}

// A jobView is a job's page.
type jobView struct {
	Name            string
	Over            bool
	HyperParameters map[string]string
	Environment     map[string]string
	Charts          []fragment
	Log             *logView

	Status, Actions, Timeline, Inputs, Details, Artifacts, MetricsNote, Pictures, Streams fragment
}

func (p *pages) job(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	job, err := p.describe(r.Context(), name)
	if err != nil {
		return err
	}
	parts, err := p.parts(job)
	if err != nil {
		return err
	}
	position, err := positionOf(r)
	if err != nil {
		return err
	}
	log := p.logView(name, position)
	streams, err := log.tabs()
	if err != nil {
		return err
	}
	view := jobView{
		Name: name, Over: ended(job.TrainingJobStatus), Log: log, Streams: streams,
		HyperParameters: job.HyperParameters, Environment: job.Environment,
		Status: parts.status, Actions: parts.actions, Timeline: parts.timeline, Inputs: parts.inputs,
		Details: parts.details, Artifacts: parts.artifacts, MetricsNote: parts.metricsNote, Pictures: parts.pictures, Charts: parts.charts,
	}
	html, err := render("job.html", view)
	if err != nil {
		return err
	}
	write(w, http.StatusOK, html)
	return nil
}

// parts are the fragments of a job's page that change while it runs, less the log's.
type parts struct {
	status, actions, timeline, inputs, details, artifacts, metricsNote, pictures fragment
	charts                                                                       []fragment
}

func (p *parts) all() []fragment {
	return append([]fragment{p.status, p.actions, p.timeline, p.inputs, p.details, p.artifacts, p.metricsNote, p.pictures}, p.charts...)
}

func (p *pages) parts(job *sagemaker.DescribeTrainingJobOutput) (*parts, error) {
	now, name := p.now(), aws.ToString(job.TrainingJobName)
	metrics, metricsErr := p.jobs.Metrics(name)
	charts, err := chartFragments(curves(metrics))
	if err != nil {
		return nil, err
	}
	parts := &parts{charts: charts}
	facts := factsOf(job, now)
	for _, part := range []struct {
		to   *fragment
		id   string
		data any
	}{
		{&parts.status, "status", facts},
		{&parts.actions, "actions", facts},
		{&parts.timeline, "timeline", timeline(job, now)},
		{&parts.inputs, "inputs", p.inputs(job)},
		{&parts.details, "details", facts},
		{&parts.artifacts, "artifacts", p.artifacts(job)},
		{&parts.pictures, "pictures", p.pictures(name)},
		{&parts.metricsNote, "metrics-note", noteOnMetrics(job, len(charts), metricsErr)},
	} {
		if *part.to, err = newFragment(part.id, part.id+".html", part.data); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// noteOnMetrics says why there are no curves; "" where there are.
func noteOnMetrics(job *sagemaker.DescribeTrainingJobOutput, charts int, err error) string {
	switch spec := job.AlgorithmSpecification; {
	case err != nil:
		return "The metrics cannot be had: " + err.Error()
	case charts > 0:
		return ""
	case spec == nil || len(spec.MetricDefinitions) == 0:
		return "The job defines no metrics."
	case ended(job.TrainingJobStatus):
		return fmt.Sprintf("No line of the log held a value of the job's %d metrics.", len(spec.MetricDefinitions))
	}
	return "No value has been seen in the log yet."
}

// facts are what is said of a job at the top and at the side.
type facts struct {
	Name          string
	Badge         badge
	Over, Spot    bool
	Failure       string
	Algorithm     string
	InputMode     string
	Instances     []string
	Output        string
	Checkpoints   string
	ARN           string
	Created       time.Time
	Started       *time.Time
	Ended         *time.Time
	Elapsed       time.Duration // since it was created, until it ended
	Training      time.Duration
	Billable      time.Duration
	MaxRuntime    time.Duration
	MaxWait       time.Duration
	StopRequested bool
}

func factsOf(job *sagemaker.DescribeTrainingJobOutput, now time.Time) facts {
	seconds := func(n *int32) time.Duration { return time.Duration(aws.ToInt32(n)) * time.Second }
	f := facts{
		Name: aws.ToString(job.TrainingJobName), ARN: aws.ToString(job.TrainingJobArn),
		Badge:   badgeOf(job.TrainingJobStatus, job.SecondaryStatus),
		Over:    ended(job.TrainingJobStatus),
		Spot:    aws.ToBool(job.EnableManagedSpotTraining),
		Failure: aws.ToString(job.FailureReason), Algorithm: algorithm(job),
		Created: aws.ToTime(job.CreationTime), Started: job.TrainingStartTime, Ended: job.TrainingEndTime,
		Elapsed:  between(job.CreationTime, job.TrainingEndTime, now),
		Training: seconds(job.TrainingTimeInSeconds), Billable: seconds(job.BillableTimeInSeconds),
		Instances: instances(job), StopRequested: job.TrainingJobStatus == "Stopping",
	}
	if f.Over && f.Ended == nil { // it ended before it started
		f.Elapsed = between(job.CreationTime, job.LastModifiedTime, now)
	}
	if spec := job.AlgorithmSpecification; spec != nil {
		f.InputMode = string(spec.TrainingInputMode)
	}
	if out := job.OutputDataConfig; out != nil {
		f.Output = aws.ToString(out.S3OutputPath)
	}
	if c := job.CheckpointConfig; c != nil {
		f.Checkpoints = aws.ToString(c.S3Uri)
	}
	if c := job.StoppingCondition; c != nil {
		f.MaxRuntime, f.MaxWait = seconds(c.MaxRuntimeInSeconds), seconds(c.MaxWaitTimeInSeconds)
	}
	return f
}

// algorithm is the job's image, or the name of what stands for one.
func algorithm(job *sagemaker.DescribeTrainingJobOutput) string {
	spec := job.AlgorithmSpecification
	if spec == nil {
		return ""
	}
	if spec.TrainingImage != nil {
		return *spec.TrainingImage
	}
	return aws.ToString(spec.AlgorithmName)
}

// instances lists the job's hosts by type.
func instances(job *sagemaker.DescribeTrainingJobOutput) []string {
	resources := job.ResourceConfig
	if resources == nil {
		return nil
	}
	if len(resources.InstanceGroups) == 0 {
		return []string{fmt.Sprintf("%d × %s", aws.ToInt32(resources.InstanceCount), resources.InstanceType)}
	}
	var all []string
	for _, g := range resources.InstanceGroups {
		all = append(all, fmt.Sprintf("%d × %s (%s)", aws.ToInt32(g.InstanceCount), g.InstanceType, aws.ToString(g.InstanceGroupName)))
	}
	return all
}
