package platform

import (
	"context"
	"math/rand/v2"
	"time"
)

// A LookAhead says when the named pipe of an epoch appears. The contract promises no more than that
// it will (container contract, 2.2), so an algorithm should train alike under all of them. The zero
// value is Eager.
type LookAhead struct {
	at    moment
	limit time.Duration
	rng   *rand.Rand
}

// A moment in the life of an epoch is when the pipe of the next one is made.
type moment int

const (
	atOpen moment = iota
	atEnd
	atStart // its own pipe is there; it need not be opened
)

// Eager makes the pipe of an epoch as soon as a reader has opened the one before it.
func Eager() LookAhead { return LookAhead{} }

// Late makes the pipe of an epoch when the one before it has ended and is removed.
func Late() LookAhead { return LookAhead{at: atEnd} }

// Delayed is Late after a further, random time up to limit, so that readers have to look for a pipe
// more than once. Run takes a seed for each channel from rng as it starts; nil means a fixed seed.
func Delayed(limit time.Duration, rng *rand.Rand) LookAhead {
	return LookAhead{at: atEnd, limit: limit, rng: rng}
}

// Ahead makes the pipe of an epoch together with the one before it: that of epoch 1 is there when
// the algorithm starts. It shows a reader that skips an epoch, which opens a pipe out of turn then.
// Under the others that reader waits for a pipe that never appears, and nobody can see it wait.
func Ahead() LookAhead { return LookAhead{at: atStart} }

// fork returns the same policy with a generator of its own, for one channel's goroutine.
func (l LookAhead) fork() LookAhead {
	if l.limit <= 0 {
		return l
	}
	if l.rng == nil {
		l.rng = rand.New(rand.NewPCG(0, 0))
		return l
	}
	l.rng = rand.New(rand.NewPCG(l.rng.Uint64(), l.rng.Uint64()))
	return l
}

// wait waits for the delay, or for ctx.
func (l LookAhead) wait(ctx context.Context) error {
	if l.limit <= 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(l.rng.Int64N(int64(l.limit) + 1)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
