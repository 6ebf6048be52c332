package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/algospec/algospec/platform/internal/container"
)

// A Running is a job that has been started. All its methods may be called from several goroutines.
type Running struct {
	run    *run
	stop   context.CancelCauseFunc
	done   chan struct{}
	result *Result
	err    error
}

// Run runs the job to its end. The error is nil when the job completed, wraps a *FailedError when it
// failed, and ErrStopped when ctx was done first or a limit was reached: the algorithm was told to
// stop then, and what it had saved is stored all the same. With either, the Result says how far the
// job came. A job that could not be started gives another error and no Result.
func Run(ctx context.Context, job Job) (*Result, error) {
	running, err := Start(ctx, job)
	switch {
	case errors.Is(err, ErrStopped):
		return &Result{SecondaryStatus: Stopped}, err
	case err != nil:
		return nil, err
	}
	return running.Wait()
}

// Start starts the job; it runs until it ends by itself, ctx is done or Stop is called. A job that
// cannot be started, as its description is wrong or a channel holds no objects, gives an error.
func Start(ctx context.Context, job Job) (*Running, error) {
	began := time.Now()
	inputs, err := job.check(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	r := &Running{run: newRun(job, inputs, began), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer stop(nil)
		r.result, r.err = r.run.live(ctx, stop)
	}()
	return r, nil
}

// Check returns what Start would refuse the job for. A ClientError() in it is the user's fault.
func Check(ctx context.Context, job Job) error {
	_, err := job.check(ctx)
	return err
}

func (j *Job) check(ctx context.Context) ([]input, error) {
	if err := j.validate(); err != nil {
		return nil, err
	}
	if j.Image != "" {
		if _, err := container.Find(ctx, os.Getenv); err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("platform: %w", err)
		}
	}
	inputs, err := j.list(ctx)
	if ctx.Err() != nil {
		return nil, stopped(ctx)
	}
	return inputs, err
}

// Stop stops the job, as StopTrainingJob does, and returns at once.
func (r *Running) Stop() { r.stop(errAsked) }

var errAsked = errors.New("on request")

// Interrupt takes the job's instances away, as happens to spot instances: the algorithm is told to
// stop, unless the job's interruptions are Unannounced, and killed. A Spot job starts again; another one
// fails. It returns at once, and does nothing before an attempt has begun and after its algorithm has
// ended.
func (r *Running) Interrupt() { r.run.interrupt() }

// Done is closed when the job has ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// Wait waits for the job's end and returns what Run does.
func (r *Running) Wait() (*Result, error) {
	<-r.done
	return r.result, r.err
}

// Progress returns how far the job is.
func (r *Running) Progress() Progress { return r.run.progress() }

// ErrStopped says that the job was stopped before its end.
var ErrStopped = errors.New("the training job was stopped")

// errMaxRuntime and errMaxWait are why a job is stopped that takes too long.
var (
	errMaxRuntime = errors.New("it has run for its MaxRuntime")
	errMaxWait    = errors.New("it has taken its MaxWait")
)

func stopped(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
}

// stoppedAs returns the status that a stopped job ends in.
func stoppedAs(ctx context.Context) (status SecondaryStatus, message string) {
	switch context.Cause(ctx) {
	case errMaxRuntime:
		return MaxRuntimeExceeded, "Training job runtime exceeded MaxRuntimeInSeconds provided"
	case errMaxWait:
		return MaxWaitTimeExceeded, "Training job wait time exceeded MaxWaitTimeInSeconds provided"
	}
	return Stopped, "Training job stopped"
}
