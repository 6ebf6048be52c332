package algospec

import (
	"context"
	"errors"
	"time"
)

// errGoexit is the end of a train function that calls runtime.Goexit.
var errGoexit = errors.New("the train function ended its goroutine with runtime.Goexit")

// live is Run for a process of its own, in which nothing that the train function does keeps the process
// from ending in time: not runtime.Goexit, and not a stop that it ignores.
func live(ctx context.Context, train Trainer, options Options) error {
	failure := options.tree().failure()
	done := captureCrash(failure)
	defer done()
	life, problem := newLife(ctx, options)
	ended := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() { ended <- err }()
		err = run(ctx, train, options, life, problem)
	}()
	var err error
	select {
	case err = <-ended:
		if err != errGoexit {
			return err
		}
	case <-overdue(ctx, life):
		err = life.overdue()
	}
	return errors.Join(err, writeFailure(failure, err))
}

// overdue returns a channel that is closed just before the platform kills the process.
func overdue(ctx context.Context, life *life) <-chan struct{} {
	late := make(chan struct{})
	if life != nil {
		context.AfterFunc(ctx, func() { time.AfterFunc(life.last(), func() { close(late) }) })
	}
	return late
}
