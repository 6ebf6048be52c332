// Algospec runs training jobs on this machine, as SageMaker does, looks into training data, splits, checks and
// converts them, streams them from S3, and looks into the snapshots of training jobs.
//
//	algospec run --image pca --channel train=rows.pbr -p feature_dim=50 -p num_components=10 -p mini_batch_size=1000
//	algospec platform -- python train.py
//	algospec jobs logs -f my-job
//	algospec records cat s3://bucket/train/
//	algospec records stat matrix_0.pbr
//	algospec records verify --salvage good.pbr damaged.pbr
//	algospec data cat --shard 0/4 s3://bucket/train/ | wc -c
//	algospec checkpoint ls s3://bucket/my-job/checkpoints/
//
// "algospec --help" tells all commands, and each has a --help of its own. The exit status is 0 when
// all went well, 1 when something is wrong with the data or they can't be read or written, 2 when
// the command line or a job's description is wrong, and 130 after Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/algospec/algospec/cmd/algospec/internal/builtin"
	"github.com/algospec/algospec/cmd/algospec/internal/checkpoint"
	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/data"
	"github.com/algospec/algospec/cmd/algospec/internal/jobs"
	"github.com/algospec/algospec/cmd/algospec/internal/records"
	"github.com/algospec/algospec/cmd/algospec/internal/serve"
	"github.com/algospec/algospec/cmd/algospec/internal/train"
)

// commands is the command line: a field is a group of commands, which has a package of its own.
type commands struct {
	Run      train.Run      `cmd:"" help:"Run one training job on this machine and follow its log."`
	Platform serve.Platform `cmd:"" help:"Start the training-job API and an S3 server for boto3, the AWS CLI and the SageMaker Python SDK."`
	Jobs     jobs.Group     `cmd:"" help:"List, show, follow and stop the training jobs of a platform."`
	Records  records.Group  `cmd:"" help:"Look into RecordIO-protobuf data; check, split and convert them."`
	Data     data.Group     `cmd:"" help:"Stream, list, download and mount data in S3, as a training job's channels do."`

	Checkpoint checkpoint.Group `cmd:"" help:"Look into the snapshots of training jobs, and verify them."`

	Container builtin.Container `cmd:"" hidden:"" help:"Be the container of a built-in algorithm."`
}

func main() {
	streams := console.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if len(os.Args) > 1 && os.Args[1] == "container" { // whose signals go to the algorithm alone, however soon they come
		os.Exit(run(context.Background(), os.Args[1:], streams))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], streams))
}

// run carries out a command line and returns the exit status.
func run(ctx context.Context, args []string, streams console.Streams) int {
	var line commands
	parser, err := kong.New(&line,
		kong.Name("algospec"),
		kong.Description("Training data and training jobs on this machine, as SageMaker's built-in algorithms have them."),
		kong.Writers(streams.Out, streams.Err),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(streams),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		records.Limits,
	)
	if err != nil {
		panic(err) // the tags of the commands are wrong
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(streams.Err, "algospec: %v (see algospec --help)\n", err)
		return console.ExitUsage
	}
	err = command.Run()
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && !console.Told(err): // a command that tells of its end by itself has a status for it
		fmt.Fprintln(streams.Err, "algospec: stopped")
		return console.ExitInterrupted
	}
	status := console.ExitFailure
	if own, ok := errors.AsType[console.StatusError](err); ok {
		status = own.Status
	}
	if usage, ok := errors.AsType[console.UsageError](err); ok {
		fmt.Fprintf(streams.Err, "algospec: %v (see algospec --help)\n", usage)
		return console.ExitUsage
	}
	if !console.Told(err) {
		fmt.Fprintf(streams.Err, "algospec: %s\n", console.Harmless(err.Error()))
	}
	return status
}
