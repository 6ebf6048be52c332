package jobs

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// List lists jobs.
type List struct {
	Status string `enum:",InProgress,Completed,Failed,Stopping,Stopped" default:"" placeholder:"STATUS" help:"Only jobs in this status: InProgress, Completed, Failed, Stopping or Stopped."`
	Name   string `placeholder:"TEXT" help:"Only jobs with this in their names."`
	Number int    `short:"n" default:"20" placeholder:"N" help:"How many jobs at most (${default}); 0 means all."`
}

// Help tells what the flags don't.
func (c *List) Help() string { return whereHelp }

// Validate checks what the types do not.
func (c *List) Validate() error {
	if c.Number < 0 {
		return fmt.Errorf("-n %d: negative", c.Number)
	}
	return nil
}

// Run carries out the command.
func (c *List) Run(ctx context.Context, streams console.Streams) error {
	p, err := connect(ctx)
	if err != nil {
		return err
	}
	in := &sagemaker.ListTrainingJobsInput{
		SortBy: types.SortByCreationTime, SortOrder: types.SortOrderDescending, StatusEquals: types.TrainingJobStatus(c.Status),
		MaxResults: aws.Int32(100),
	}
	if c.Name != "" {
		in.NameContains = aws.String(c.Name)
	}
	table := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATUS\tCREATED\tTOOK")
	shown := 0
	for pages := sagemaker.NewListTrainingJobsPaginator(p.jobs, in); pages.HasMorePages() && (c.Number == 0 || shown < c.Number); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return plain(err)
		}
		for _, job := range out.TrainingJobSummaries {
			if c.Number > 0 && shown == c.Number {
				break
			}
			shown++
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", console.Printable(aws.ToString(job.TrainingJobName)),
				statusOf(job.TrainingJobStatus, job.SecondaryStatus), clock(job.CreationTime), took(job.CreationTime, job.TrainingEndTime))
		}
	}
	if shown == 0 {
		fmt.Fprintln(streams.Err, "no training jobs")
		return nil
	}
	return table.Flush()
}

// statusOf is the status, and the secondary one where that says more.
func statusOf(status types.TrainingJobStatus, secondary types.SecondaryStatus) string {
	if secondary == "" || string(secondary) == string(status) {
		return console.Printable(string(status))
	}
	return console.Printable(fmt.Sprintf("%s (%s)", status, secondary))
}

func clock(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// took is the time between two others, up to now where the second has not come.
func took(from, to *time.Time) string {
	if from == nil {
		return ""
	}
	end := time.Now()
	if to != nil {
		end = *to
	}
	return console.Seconds(max(0, end.Sub(*from)))
}
