package algospec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/algospec/algospec/hyperparams"
)

// ErrStopped is the cause of the context when the platform, or the user, stops the job. A train
// function that returns it, having saved what is worth keeping, ends the job well.
var ErrStopped = errors.New("algospec: stopped by the platform")

// ErrNoModel says that a train function came to its end and the model directory is empty.
var ErrNoModel = errors.New("the training ended and left the model directory empty: nothing was saved with job.Model.Save")

// A Trainer trains on what job describes. It returns context.Cause(ctx) soon after ctx is done.
type Trainer func(ctx context.Context, job *Job) error

// Bind makes a Trainer of a function that takes its hyperparameters as the struct P, as package
// hyperparams parses them. A job with bad hyperparameters fails before train is called.
func Bind[P any](train func(ctx context.Context, job *Job, params P) error) Trainer {
	return func(ctx context.Context, job *Job) error {
		params, err := hyperparams.Parse[P](job.HyperParameters)
		if err != nil {
			return err
		}
		return train(ctx, job, params)
	}
}

// Options are what tests and other platforms set. The zero value is the contract.
type Options struct {
	BaseDir string                  // of the tree; "" means SAGEMAKER_BASE_DIR, or else /opt/ml
	Getenv  func(key string) string // nil means os.Getenv
	Stdout  io.Writer               // of log and metric lines; nil means os.Stdout
	NoModel bool                    // the job need not save a model

	Grace   time.Duration // between a stop and the kill; 0 means ALGOSPEC_GRACE, such as 30s, or else 120 s
	Reserve time.Duration // of the Grace, kept from contexts for saving; 0 means 20 s, but no more than a sixth of it
}

// Main runs a container's training and exits with its status. It is the whole of func main.
func Main[P any](train func(ctx context.Context, job *Job, params P) error) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		fmt.Fprintln(os.Stderr, "algospec: this container trains; it does not serve")
		os.Exit(exitClient)
	}
	var options Options
	err := live(notify(), Bind(train), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(ExitStatus(err))
}

// notify returns a context that the first SIGTERM or SIGINT cancels with ErrStopped. The second
// one exits.
func notify() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		cancel(ErrStopped)
		second := <-signals
		os.Exit(exitSignal + int(second.(syscall.Signal)))
	}()
	return ctx
}

// Run runs one host's training: it reads the tree's configuration, calls train, checks that a
// model was saved, and closes the job's Cluster. What goes wrong, a panic of train included, is written to the failure file,
// unless there is one already, and returned.
//
// When ctx was cancelled with ErrStopped and train returns nothing but that, or ctx.Err(), the job
// was stopped well: there is no failure file, and the error returned wraps ErrStopped.
func Run(ctx context.Context, train Trainer, options Options) error {
	life, err := newLife(ctx, options)
	return run(ctx, train, options, life, err)
}

// run is Run, with the error of making a life.
func run(ctx context.Context, train Trainer, options Options, life *life, err error) error {
	tree := options.tree()
	var job *Job
	if err == nil {
		job, err = tree.job(options)
	}
	if err == nil {
		// Last, so that this host's failure file comes before those of hosts that miss it.
		defer job.close()
		job.life = life
		err = job.train(ctx, train, options)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), ErrStopped) && onlyStop(err):
		if !errors.Is(err, ErrStopped) {
			err = fmt.Errorf("%w: %w", ErrStopped, err)
		}
		return err
	case onlyStop(err):
		err = fmt.Errorf("the train function says %q, and nobody stopped it", err.Error())
	}
	return errors.Join(err, writeFailure(tree.failure(), err))
}

// onlyStop reports whether err, and all errors that are joined in it, are those of a stop.
func onlyStop(err error) bool {
	if err == ErrStopped || err == context.Canceled {
		return true
	}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		return onlyStop(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		errs := wrapper.Unwrap()
		for _, err := range errs {
			if !onlyStop(err) {
				return false
			}
		}
		return len(errs) > 0
	}
	return false
}

// train calls train, has saved what a stopped job is to leave behind, and checks that there is a model.
func (j *Job) train(ctx context.Context, train Trainer, options Options) error {
	err := guard(func() error { return train(ctx, j) })
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrStopped) && onlyStop(err):
		return cmp.Or(j.salvage(ctx), err)
	case err != nil:
		return err
	case ctx.Err() == nil && j.Cluster.Leader() && !options.NoModel:
		return j.Model.checkNotEmpty()
	}
	return nil
}

// guard calls f and makes an error of its panic.
func guard(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = newPanicError(value)
		}
	}()
	return f()
}

// The exit statuses of a container (container contract, 1.6).
const (
	exitAlgorithm = 1
	exitClient    = 2
	exitSignal    = 128 // plus the signal
)

// ExitStatus returns the status with which a container exits when Run returned err.
func ExitStatus(err error) int {
	switch {
	case err == nil || onlyStop(err):
		return 0
	case IsClientError(err):
		return exitClient
	}
	return exitAlgorithm
}

// IsClientError reports whether an error in err's chain says that the user's data or settings are
// at fault.
func IsClientError(err error) bool {
	client, ok := errors.AsType[interface {
		error
		ClientError() bool
	}](err)
	return ok && client.ClientError()
}
