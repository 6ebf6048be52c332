package s3stream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

var (
	errStalled = errors.New("no byte came")
	errSlow    = errors.New("much slower than others")
)

// A watch looks after one request: it cancels one that brings nothing for too
// long, and lets others see how fast it is.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer

	asked  time.Time
	first  atomic.Int64 // nanoseconds from asking to the answer; 0 before
	bytes  atomic.Int64 // of the body so far
	rested atomic.Bool  // it was not read all the time
}

func newWatch(ctx context.Context, idle time.Duration) (context.Context, *watch) {
	w := &watch{idle: idle, asked: time.Now()}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(idle, func() { w.cancel(errStalled) })
	return w.ctx, w
}

// wait says that bytes are wanted from now on, as the answer is from the beginning.
func (w *watch) wait() { w.timer.Reset(w.idle) }

// alive says that the answer has begun, or that bytes have come. No more are
// wanted until wait says so.
func (w *watch) alive(n int) {
	w.timer.Stop()
	if w.first.Load() == 0 {
		w.first.Store(int64(max(1, time.Since(w.asked))))
	}
	w.bytes.Add(int64(n))
}

// rest says that no bytes are wanted for a while.
func (w *watch) rest() {
	w.timer.Stop()
	w.rested.Store(true)
}

// explain returns why the request ended if it was the watch that ended it, and err otherwise.
func (w *watch) explain(err error) error {
	switch context.Cause(w.ctx) {
	case errStalled:
		return broken{fmt.Errorf("%w for %v", errStalled, w.idle)}
	case errSlow:
		return broken{errSlow}
	}
	return err
}

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}
