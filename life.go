package algospec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The times of a stop (container contract, 1.7).
const (
	defaultGrace   = 120 * time.Second // from SIGTERM to SIGKILL
	defaultReserve = 20 * time.Second  // of it, for what comes after saving
)

// errLate is the cause of a context for saving whose time is over.
var errLate = errors.New("algospec: the time to save is over: the platform is about to kill the process")

// A life is a job's way to its end: when it was stopped, and what it is at.
type life struct {
	job            context.Context // done when the job is stopped
	grace, reserve time.Duration

	once    sync.Once
	stopped time.Time

	mu    sync.Mutex
	doing string
}

func newLife(ctx context.Context, o Options) (*life, error) {
	l := &life{job: ctx, grace: o.Grace, reserve: o.Reserve, doing: "the train function"}
	if text := o.getenv("ALGOSPEC_GRACE"); l.grace <= 0 && text != "" {
		grace, err := time.ParseDuration(text)
		if err != nil || grace <= 0 {
			return nil, fmt.Errorf("ALGOSPEC_GRACE: %q is no duration such as 120s", text)
		}
		l.grace = grace
	}
	if l.grace <= 0 {
		l.grace = defaultGrace
	}
	if l.reserve <= 0 {
		l.reserve = min(defaultReserve, l.grace/6)
	}
	context.AfterFunc(ctx, func() { l.deadline() }) // notes the time
	return l, nil
}

// deadline returns when the platform kills the process, once it has stopped the job.
func (l *life) deadline() (time.Time, bool) {
	if !errors.Is(context.Cause(l.job), ErrStopped) {
		return time.Time{}, false
	}
	l.once.Do(func() { l.stopped = time.Now() })
	return l.stopped.Add(l.grace), true
}

// last is how long after the stop a process that has not come to its end says so and exits.
func (l *life) last() time.Duration { return l.grace - min(time.Second, l.grace/20) }

func (l *life) do(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doing = what
}

// overdue is the error of a process that has to end where it is.
func (l *life) overdue() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Errorf("stopped, and %s has not returned after %v", l.doing, l.last().Round(time.Millisecond))
}

// Deadline returns when the platform kills the process: Options.Grace after it stopped the job. It
// reports false before that.
func (j *Job) Deadline() (time.Time, bool) {
	if j.life == nil {
		return time.Time{}, false
	}
	return j.life.deadline()
}

// SaveContext returns a context for saving what is worth keeping, such as a snapshot or the model so
// far. It ends with ctx, but where that ends because the platform has stopped the job, with the cause
// ErrStopped, only at Options.Reserve before the Deadline.
func (j *Job) SaveContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if errors.Is(context.Cause(ctx), ErrStopped) {
		return context.WithDeadlineCause(context.WithoutCancel(ctx), j.saveUntil(), errLate)
	}
	save, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); !errors.Is(cause, ErrStopped) {
			cancel(cause)
			return
		}
		timer := time.NewTimer(time.Until(j.saveUntil()))
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(errLate)
		case <-save.Done():
		}
	})
	return save, func() { release(); cancel(nil) }
}

// saveUntil is asked once the job is stopped.
func (j *Job) saveUntil() time.Time {
	if deadline, ok := j.Deadline(); ok {
		return deadline.Add(-j.life.reserve)
	}
	return time.Now().Add(defaultGrace - defaultReserve)
}

// OnStop has save called when the platform has stopped the job and the train function has returned
// because of that, so that it need not save in the middle of its loops. What was registered first is
// called first. The context is a SaveContext; an error fails the job, and a save that outlasts the
// Deadline is cut off, with a line that says so.
//
// A train function that returns nil after a stop has saved what it wanted, and nothing is called.
func (j *Job) OnStop(save func(ctx context.Context) error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.saves = append(j.saves, save)
}

// salvage calls what OnStop has registered.
func (j *Job) salvage(ctx context.Context) error {
	ctx, cancel := j.SaveContext(ctx)
	defer cancel()
	j.mu.Lock()
	saves := j.saves
	j.mu.Unlock()
	var errs []error
	for i, save := range saves {
		name := fmt.Sprintf("save hook %d of %d", i+1, len(saves))
		j.life.do(name)
		err := context.Cause(ctx)
		if err == nil {
			err = guard(func() error { return save(ctx) })
		}
		if onlyStop(err) {
			err = fmt.Errorf("%s: %v", name, err) // which is no stop well done
		} else if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
