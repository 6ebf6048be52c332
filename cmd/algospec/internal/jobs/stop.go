package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// Stop stops jobs.
type Stop struct {
	Names []string `arg:"" name:"name" help:"The jobs."`
	Wait  bool     `short:"w" help:"Wait until they have stopped."`
}

// Help tells what the flags don't.
func (c *Stop) Help() string { return whereHelp }

// Run carries out the command. A job that can't be stopped keeps the others from nothing.
func (c *Stop) Run(ctx context.Context, streams console.Streams) error {
	p, err := connect(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range c.Names {
		_, err := p.jobs.StopTrainingJob(ctx, &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String(name)})
		if err == nil && c.Wait {
			err = p.await(ctx, name)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", console.Printable(name), plain(err)))
		case c.Wait:
			fmt.Fprintln(streams.Out, name+" has stopped")
		default:
			fmt.Fprintln(streams.Out, name+" is stopping")
		}
	}
	return errors.Join(errs...)
}

// await waits for a job's end.
func (p platform) await(ctx context.Context, name string) error {
	for {
		job, err := p.describe(ctx, name)
		if err != nil || ended(job.TrainingJobStatus) {
			return err
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
