// Package jobs is the command group "algospec jobs": it asks the training-job API for its jobs and their logs.
package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/algospec/algospec/cmd/algospec/internal/home"
)

// Group is the command line of the group.
type Group struct {
	List List `cmd:"" help:"List training jobs, the newest first."`
	Show Show `cmd:"" help:"Show what is known of a job."`
	Logs Logs `cmd:"" help:"Print a job's log, with -f as it grows."`
	Stop Stop `cmd:"" help:"Tell jobs to stop; what they had saved is stored."`
}

// whereHelp says which platform is asked.
const whereHelp = `The platform is the one that the environment names (AWS_ENDPOINT_URL_SAGEMAKER), or else the
one that runs on this machine with the usual --dir.`

// platform is the API to ask.
type platform struct {
	jobs *sagemaker.Client
	logs *cloudwatchlogs.Client
}

// connect returns clients of the platform that the environment names, or of the one that runs on this machine. Never
// are they of AWS itself unless its endpoint is named.
func connect(ctx context.Context) (platform, error) {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return platform{}, fmt.Errorf("AWS configuration: %w", err)
	}
	if settings.Region == "" {
		settings.Region = "us-east-1"
	}
	p := clients(settings)
	if p.jobs.Options().BaseEndpoint != nil {
		return p, nil
	}
	dir, err := home.Default()
	if err != nil {
		return platform{}, err
	}
	environment, err := home.Running(dir)
	if errors.Is(err, home.ErrNotRunning) {
		return platform{}, fmt.Errorf("%w here (\"algospec platform\" starts one), and AWS_ENDPOINT_URL_SAGEMAKER names none", err)
	}
	if err != nil {
		return platform{}, err
	}
	settings.BaseEndpoint = aws.String(environment.Get("AWS_ENDPOINT_URL_SAGEMAKER"))
	settings.Region = environment.Get("AWS_REGION")
	if key := environment.Get("AWS_ACCESS_KEY_ID"); key != "" {
		settings.Credentials = credentials.NewStaticCredentialsProvider(key, environment.Get("AWS_SECRET_ACCESS_KEY"), "")
	}
	return clients(settings), nil
}

func clients(settings aws.Config) platform {
	return platform{sagemaker.NewFromConfig(settings), cloudwatchlogs.NewFromConfig(settings)}
}

// describe returns what the API knows of a job.
func (p platform) describe(ctx context.Context, name string) (*sagemaker.DescribeTrainingJobOutput, error) {
	job, err := p.jobs.DescribeTrainingJob(ctx, &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String(name)})
	return job, plain(err)
}

// plain leaves of an error what the API says, without the SDK's account of the request.
func plain(err error) error {
	if known, ok := errors.AsType[smithy.APIError](err); ok && known.ErrorMessage() != "" {
		return errors.New(known.ErrorMessage())
	}
	if unsent, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return fmt.Errorf("the platform does not answer: %w", unsent.Err)
	}
	return err
}
