package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform/api"
)

// Show shows a job.
type Show struct {
	Name string `arg:"" help:"The job."`
	JSON bool   `name:"json" help:"Print the answer of DescribeTrainingJob."`
}

// Help tells what the flags don't.
func (c *Show) Help() string { return whereHelp }

// Run carries out the command.
func (c *Show) Run(ctx context.Context, streams console.Streams) error {
	p, err := connect(ctx)
	if err != nil {
		return err
	}
	job, err := p.describe(ctx, c.Name)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(streams.Out, job)
	}
	return printJob(streams.Out, job)
}

func printJSON(out io.Writer, job *sagemaker.DescribeTrainingJobOutput) error {
	text, err := api.Marshal(job)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, indented.String())
	return err
}

// printJob prints a table, and leaves out what there is not.
func printJob(out io.Writer, job *sagemaker.DescribeTrainingJobOutput) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", console.Printable(name), console.Printable(value))
		}
	}
	row("name", aws.ToString(job.TrainingJobName))
	row("status", statusOf(job.TrainingJobStatus, job.SecondaryStatus))
	row("failure", aws.ToString(job.FailureReason))
	if a := job.AlgorithmSpecification; a != nil {
		row("image", aws.ToString(a.TrainingImage))
		row("algorithm", aws.ToString(a.AlgorithmName))
	}
	row("hosts", hosts(job.ResourceConfig))
	row("created", clock(job.CreationTime))
	row("took", took(job.CreationTime, job.TrainingEndTime))
	if job.ModelArtifacts != nil {
		row("model", aws.ToString(job.ModelArtifacts.S3ModelArtifacts))
	}
	for i, t := range job.SecondaryStatusTransitions {
		row([]string{"history", ""}[min(i, 1)], fmt.Sprintf("%-12s %8s  %s", t.Status, took(t.StartTime, t.EndTime), aws.ToString(t.StatusMessage)))
	}
	for _, c := range job.InputDataConfig {
		row("channel "+aws.ToString(c.ChannelName), source(c))
	}
	for _, name := range slices.Sorted(maps.Keys(job.HyperParameters)) {
		row("hyperparameter "+name, job.HyperParameters[name])
	}
	for _, m := range job.FinalMetricDataList {
		row("metric "+aws.ToString(m.MetricName), strconv.FormatFloat(float64(aws.ToFloat32(m.Value)), 'g', 6, 32))
	}
	return table.Flush()
}

func hosts(c *types.ResourceConfig) string {
	if c == nil {
		return ""
	}
	if len(c.InstanceGroups) == 0 {
		return fmt.Sprintf("%d of type %s", aws.ToInt32(c.InstanceCount), c.InstanceType)
	}
	var groups []string
	for _, g := range c.InstanceGroups {
		groups = append(groups, fmt.Sprintf("%s: %d of type %s", aws.ToString(g.InstanceGroupName), aws.ToInt32(g.InstanceCount), g.InstanceType))
	}
	return strings.Join(groups, ", ")
}

// source says where a channel's data are.
func source(c types.Channel) string {
	switch {
	case c.DataSource == nil:
		return ""
	case c.DataSource.S3DataSource != nil:
		s := c.DataSource.S3DataSource
		return strings.TrimSpace(fmt.Sprintf("%s (%s)", aws.ToString(s.S3Uri), strings.Join(nonEmpty(
			string(c.InputMode), string(s.S3DataType), string(s.S3DataDistributionType), aws.ToString(c.ContentType)), ", ")))
	case c.DataSource.FileSystemDataSource != nil:
		f := c.DataSource.FileSystemDataSource
		return aws.ToString(f.FileSystemId) + aws.ToString(f.DirectoryPath)
	}
	return ""
}

func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}
