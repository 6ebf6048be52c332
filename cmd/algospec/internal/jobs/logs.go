package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// Logs prints a job's log.
type Logs struct {
	Name   string `arg:"" help:"The job."`
	Follow bool   `short:"f" help:"Go on until the job has ended."`
	Host   string `placeholder:"HOST" help:"Only the log of this host, such as algo-1."`
}

// Help tells what the flags don't.
func (c *Logs) Help() string {
	return "The lines of several hosts come in the order of their times, after the hosts' names.\n\n" + whereHelp
}

const (
	logGroup  = "/aws/sagemaker/TrainingJobs"
	pollEvery = time.Second
)

// Run carries out the command.
func (c *Logs) Run(ctx context.Context, streams console.Streams) error {
	p, err := connect(ctx)
	if err != nil {
		return err
	}
	log := &joblog{platform: p, job: c.Name, host: c.Host, out: streams.Out, harmless: console.IsTerminal(streams.Out)}
	for {
		job, err := p.describe(ctx, c.Name) // before the lines, so that none comes after the last look at them
		if err != nil {
			return err
		}
		log.several = hostCount(job.ResourceConfig) > 1
		if err := log.print(ctx); err != nil {
			return err
		}
		if !c.Follow || ended(job.TrainingJobStatus) {
			return log.check()
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func ended(status types.TrainingJobStatus) bool {
	switch status {
	case types.TrainingJobStatusCompleted, types.TrainingJobStatusFailed, types.TrainingJobStatusStopped:
		return true
	}
	return false
}

func hostCount(c *types.ResourceConfig) (n int32) {
	if c == nil {
		return 0
	}
	for _, g := range c.InstanceGroups {
		n += aws.ToInt32(g.InstanceCount)
	}
	return n + aws.ToInt32(c.InstanceCount)
}

// A joblog prints the streams of a job as one.
type joblog struct {
	platform
	job, host string
	out       io.Writer
	harmless  bool // the lines go to a terminal
	several   bool // hosts' names go before the lines
	streams   []*cursor
}

// A cursor is how far a stream has been read.
type cursor struct {
	name, host string
	token      *string
	lines      []logtypes.OutputLogEvent // read and not printed
}

// print prints all lines that there are.
func (l *joblog) print(ctx context.Context) error {
	if err := l.find(ctx); err != nil {
		return err
	}
	for {
		next, err := l.next(ctx)
		if err != nil || next == nil {
			return err
		}
		if err := l.printLine(next.host, aws.ToString(next.lines[0].Message)); err != nil {
			return err
		}
		next.lines = next.lines[1:]
	}
}

// next returns the stream with the earliest line, nil where no stream has any more.
func (l *joblog) next(ctx context.Context) (first *cursor, err error) {
	for _, c := range l.streams {
		if len(c.lines) == 0 {
			if err := l.fill(ctx, c); err != nil {
				return nil, err
			}
		}
		if len(c.lines) > 0 && (first == nil || aws.ToInt64(c.lines[0].Timestamp) < aws.ToInt64(first.lines[0].Timestamp)) {
			first = c
		}
	}
	return first, nil
}

// find looks for streams that have come.
func (l *joblog) find(ctx context.Context) error {
	in := &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: aws.String(logGroup), LogStreamNamePrefix: aws.String(l.job + "/")}
	for pages := cloudwatchlogs.NewDescribeLogStreamsPaginator(l.logs, in); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return plain(err)
		}
		for _, stream := range out.LogStreams {
			name := aws.ToString(stream.LogStreamName)
			host := hostOf(name)
			known := slices.ContainsFunc(l.streams, func(c *cursor) bool { return c.name == name })
			if !known && (l.host == "" || l.host == host) {
				l.streams = append(l.streams, &cursor{name: name, host: host})
			}
		}
	}
	return nil
}

// hostOf is the host of a stream <job>/algo-1-1700000000.
func hostOf(stream string) string {
	_, name, _ := strings.Cut(stream, "/")
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		return name[:i]
	}
	return name
}

// fill reads the next lines of a stream.
func (l *joblog) fill(ctx context.Context, c *cursor) error {
	out, err := l.logs.GetLogEvents(ctx, &cloudwatchlogs.GetLogEventsInput{
		LogGroupName: aws.String(logGroup), LogStreamName: aws.String(c.name), StartFromHead: aws.Bool(true), NextToken: c.token,
	})
	if err != nil {
		return plain(err)
	}
	c.lines, c.token = out.Events, out.NextForwardToken
	return nil
}

func (l *joblog) printLine(host, text string) error {
	if l.harmless {
		text = console.Harmless(text)
	}
	if l.several {
		text = host + " | " + text
	}
	_, err := fmt.Fprintln(l.out, text)
	return err
}

// check reports a host that there is not.
func (l *joblog) check() error {
	if l.host != "" && len(l.streams) == 0 {
		return errors.New("training job " + l.job + " has no log of a host " + l.host)
	}
	return nil
}
