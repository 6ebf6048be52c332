package platform

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A run is a job on its way through its attempts (container contract, 11.1).
type run struct {
	job     Job
	inputs  []input
	members []member
	began   time.Time
	log     *jobLog
	status  timeline
	trained atomic.Int64 // nanoseconds, of the attempts that have ended

	mu      sync.Mutex
	current *attempt
}

func newRun(job Job, inputs []input, began time.Time) *run {
	r := &run{job: job, inputs: inputs, members: job.members(), began: began}
	metrics, _ := compileMetrics(job.MetricDefinitions) // which validate has tried
	r.log = &jobLog{job: &r.job, metrics: metrics, prefix: len(r.members) > 1}
	r.status.notify = job.Transition
	return r
}

// live takes the job from its start to its end.
func (r *run) live(ctx context.Context, stop context.CancelCauseFunc) (*Result, error) {
	if r.job.MaxWait > 0 {
		timer := time.AfterFunc(r.job.MaxWait, func() { stop(errMaxWait) })
		defer timer.Stop()
	}
	defer r.reportProgress()()

	result := &Result{}
	err := r.attempts(ctx, stop, result)
	r.end(ctx, result, err)
	return result, err
}

// attempts trains until that comes to an end that is the job's.
func (r *run) attempts(ctx context.Context, stop context.CancelCauseFunc, result *Result) error {
	for retries := r.job.Retries; ; {
		r.status.enter(Starting, "Starting the training job")
		err := r.attempt(ctx, stop, result)
		switch {
		case errors.Is(err, errInterrupted) && r.job.Spot:
			r.status.enter(Interrupted, "The instances were taken away; the job starts again")
		case retryable(err) && retries > 0:
			retries--
			r.status.enter(Restarting, "The platform failed; the job starts again")
		default:
			return err
		}
		r.job.logger().Warn("an attempt was lost", "attempt", result.Attempts, "error", err)
		if ctx.Err() != nil {
			return stopped(ctx)
		}
	}
}

// attempt makes an attempt, in a tree of its own.
func (r *run) attempt(ctx context.Context, stop context.CancelCauseFunc, result *Result) error {
	result.Attempts++
	lasting, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	a, err := r.newAttempt(result.Attempts, lose)
	if err != nil {
		return r.fail("InternalServerError: "+err.Error(), err)
	}
	defer a.remove()
	r.setCurrent(a)
	return a.conclude(ctx, a.train(lasting, stop), result)
}

func (r *run) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		r.current.lose(errInterrupted)
	}
}

// errInterrupted is why an attempt ends whose instances are taken away.
var errInterrupted = errors.New("the instances were taken away")

// end enters the last status, and writes down what there is to say at the end.
func (r *run) end(ctx context.Context, result *Result, err error) {
	var failed *FailedError
	switch {
	case errors.As(err, &failed):
		r.status.enter(Failed, failed.Reason)
	case err != nil:
		r.status.enter(Stopping, "Stopping the training job")
		r.status.enter(stoppedAs(ctx))
	default:
		r.status.enter(Completed, "Training job completed")
	}
	result.Transitions = r.status.all()
	result.SecondaryStatus = result.Transitions[len(result.Transitions)-1].Status
	result.BillableTime = billable(result.Transitions)
	result.TrainingTime = time.Duration(r.trained.Load())
	result.Metrics = r.log.values()
}

func (r *run) fail(text string, err error) error {
	return &FailedError{Job: r.job.Name, Reason: reason(text), Err: err}
}

// limit stops the job when its MaxRuntime is over, of which earlier attempts have had their part.
func (r *run) limit(stop context.CancelCauseFunc) (release func()) {
	began := time.Now()
	var timer *time.Timer
	if r.job.MaxRuntime > 0 {
		timer = time.AfterFunc(r.job.MaxRuntime-time.Duration(r.trained.Load()), func() { stop(errMaxRuntime) })
	}
	return func() {
		if timer != nil {
			timer.Stop()
		}
		r.trained.Add(int64(time.Since(began)))
	}
}

func (r *run) setCurrent(a *attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = a
}

// progress returns how far the job is: its last attempt.
func (r *run) progress() Progress {
	r.mu.Lock()
	a := r.current
	r.mu.Unlock()
	progress := Progress{Elapsed: time.Since(r.began)}
	if a != nil {
		progress.Downloaded, progress.ToDownload = a.downloaded.Load(), a.toDownload.Load()
		progress.Channels = a.progress()
	}
	return progress
}

// reportProgress calls the job's Progress now and then, and a last time when the returned function
// is called.
func (r *run) reportProgress() (stop func()) {
	if r.job.Progress == nil {
		return func() {}
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.job.Progress(r.progress())
			case <-done:
				r.job.Progress(r.progress())
				return
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// uploadTimeout bounds the upload of what a stopped job saved.
const uploadTimeout = 5 * time.Minute

// unhurried returns a context for an upload: a stop, before or meanwhile, bounds it and does not end it.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	upload, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { // no timer outlives the upload
		timer := time.NewTimer(uploadTimeout)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(fmt.Errorf("not done within %v of the stop", uploadTimeout))
		case <-upload.Done():
		}
	})
	return upload, func() { release(); cancel(nil) }
}
