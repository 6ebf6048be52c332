// Package train is the command "algospec run": one training job on this machine, in this process, without a platform
// that other programs can talk to.
package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/cmd/algospec/internal/config"
	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/api"
	"github.com/algospec/algospec/platform/picture"
)

// Run is the command line.
type Run struct {
	File string `arg:"" optional:"" name:"job.json" help:"A request of CreateTrainingJob, as the AWS CLI takes it with --cli-input-json; - is stdin. Flags go before what it says."`

	Name           string            `placeholder:"NAME" help:"The job's name (made of the algorithm's and the time)."`
	Image          string            `placeholder:"IMAGE" help:"TrainingImage: pca, kmeans or linear-learner, or that of a registry."`
	Command        string            `placeholder:"WORDS" help:"Instead of an image, a program and its arguments, divided by spaces. Files here are found."`
	Channel        []string          `short:"c" sep:"none" placeholder:"NAME=DATA" help:"A channel: s3://bucket/prefix, or a file or directory here. Can be given several times."`
	Hyperparameter map[string]string `short:"p" mapsep:"none" placeholder:"NAME=VALUE" help:"A hyperparameter. Can be given several times."`
	Environment    map[string]string `short:"e" mapsep:"none" placeholder:"NAME=VALUE" help:"An environment variable of the algorithm. Can be given several times."`
	Metric         map[string]string `mapsep:"none" placeholder:"NAME=REGEX" help:"A metric to find in the log: the regex's first group is the value."`
	InputMode      string            `enum:",File,Pipe,FastFile" default:"" placeholder:"MODE" help:"TrainingInputMode: File (default), Pipe or FastFile."`
	Output         string            `short:"o" placeholder:"PATH" help:"Where PATH/<job>/output/model.tar.gz goes: s3://bucket/prefix, or a directory here (.)."`
	ModelOut       string            `placeholder:"FILE" help:"Copy the model to this file, too."`
	Pictures       string            `placeholder:"DIR" help:"Where pictures of the results go, as SVG (beside a model that comes here)."`
	InstanceCount  int32             `short:"n" placeholder:"N" help:"How many hosts (1)."`
	MaxRuntime     time.Duration     `placeholder:"TIME" help:"Stop the job after so much training (24h)."`
	Grace          time.Duration     `placeholder:"TIME" help:"How long a job that is told to stop has before it is killed (2m)."`
	Config         string            `placeholder:"FILE" help:"What runs for images, and file systems; see algospec platform --help."`
	Quiet          bool              `short:"q" help:"Don't print the algorithm's log."`
}

// Help tells what the flags don't.
func (c *Run) Help() string {
	return `The log goes to stdout, all else to stderr.

    algospec run --image pca -c train=rows.pbr -p feature_dim=50 -p num_components=10 -p mini_batch_size=1000
    algospec run --command "python3 train.py" -c train=data,content-type=text/csv -n 2 --output results
    algospec run job.json --instance-count 3 --model-out model.tar.gz

A channel can have options, after commas: mode=Pipe, type=ManifestFile, distribution=ShardedByS3Key,
content-type=text/csv, compression=Gzip, wrapper=RecordIO, shuffle=SEED, attributes=NAME+NAME.

Data in S3 are read, and the model is written, with the AWS configuration of the environment. Files and directories here
are copied into an S3 server of this process, so that they reach the algorithm in every mode and shard as from S3;
files whose names begin with a dot are left out.

What a job describes with Job.SavePictures, as the built-in algorithms do, and metrics of several values are drawn.

The exit status is 0 when the job completed, 2 when its description or its data are at fault, 130 after Ctrl-C, which
stops the job and keeps what it had saved, and 1 when it failed or ran into a limit.`
}

// Validate checks what the types do not.
func (c *Run) Validate() error {
	switch {
	case c.Command != "" && c.Image != "":
		return errors.New("--image and --command: want one of them")
	case c.Command != "" && strings.TrimSpace(c.Command) == "":
		return errors.New("--command: no program")
	case c.InstanceCount < 0:
		return fmt.Errorf("--instance-count %d: want at least 1", c.InstanceCount)
	case c.MaxRuntime < 0 || c.MaxRuntime > 0 && c.MaxRuntime < time.Second:
		return fmt.Errorf("--max-runtime %v: want at least 1s", c.MaxRuntime)
	case c.Grace < 0:
		return fmt.Errorf("--grace %v: negative", c.Grace)
	}
	return nil
}

// Run carries out the command.
func (c *Run) Run(ctx context.Context, streams console.Streams) error {
	settings, err := config.Read(c.Config)
	if err != nil {
		return console.Usagef("%w", err)
	}
	request, err := c.request(streams.In)
	if err != nil {
		return err
	}
	data, err := c.stage(ctx, request, streams)
	if err != nil {
		return err
	}
	defer data.close()
	if err := api.Validate(request); err != nil {
		return atFault(err)
	}
	job, err := c.options(settings, data).Job(request)
	if err != nil {
		return atFault(err)
	}
	f := newFollower(streams, &job, c.Quiet)
	var curves picture.Curves
	job.Metric = curves.Add
	result, err := platform.Run(ctx, job)
	f.done()
	return c.conclude(ctx, streams, data, ended{job.Name, result, err, &curves})
}

// options are those of a service that would run the job.
func (c *Run) options(settings *config.Config, data *staged) api.Options {
	opts := api.Options{
		S3: data.client, Region: settings.Region, Account: settings.Account, Resolve: settings.Resolve,
		Grace: settings.Grace, FileSystems: settings.FileSystems,
	}
	if c.Grace > 0 {
		opts.Grace = c.Grace
	}
	if c.Command != "" {
		opts.Resolve = c.resolveCommand
	}
	return opts
}

// resolveCommand takes the command for any image.
func (c *Run) resolveCommand(string) (api.Algorithm, error) {
	here, err := os.Getwd()
	command := strings.Fields(c.Command)
	config.Absolute(command, here)
	return api.Algorithm{Command: command}, err
}

// atFault makes an error that is the user's one of exit status 2.
func atFault(err error) error {
	if known, ok := errors.AsType[smithy.APIError](err); ok {
		return console.StatusError{Status: console.ExitUsage, Err: errors.New(known.ErrorMessage())}
	}
	if algospec.IsClientError(err) {
		return console.StatusError{Status: console.ExitUsage, Err: err}
	}
	return err
}
