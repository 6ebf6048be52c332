package channel

import (
	"iter"
	"sync"
)

// Split shares the records of seq out among n goroutines: it runs consume(0, part) to
// consume(n-1, part) at the same time and returns when all have returned. Each record goes to
// exactly one of them, to the one that asks for it first, so who computes long gets fewer; what
// must not depend on timing must not depend on which consumer has seen a record. A part is ranged
// over by its consumer only, and a record is valid during its step.
//
// One record per consumer is held, and seq advances when a consumer asks: if all are slow, so is
// the reading. A consumer that returns nil early, or never begins, leaves the records to the
// others. An error of seq, or one that a consumer returns, is yielded last by the parts of all
// others; Split returns it, the first there was. A consumer that waits for seq to advance is not
// interrupted: cancel the context that seq reads under for that.
func Split(seq iter.Seq2[[]byte, error], n int, consume func(consumer int, part iter.Seq2[[]byte, error]) error) error {
	return SplitFunc(seq, n, keepBytes, consume)
}

// SplitFunc is Split for values of any type; keep is that of ShuffleFunc.
func SplitFunc[T any](seq iter.Seq2[T, error], n int, keep func(old, v T) T, consume func(consumer int, part iter.Seq2[T, error]) error) error {
	next, stop := iter.Pull2(seq)
	defer stop()
	s := &splitter[T]{next: next, keep: orAssign(keep)}
	return together(n, s.fail, func(i int) error { return consume(i, s.part) })
}

// A splitter hands out the values of one sequence.
type splitter[T any] struct {
	keep func(old, v T) T

	mu   sync.Mutex
	next func() (T, error, bool)
	err  error // what ended the sequence early
}

func (s *splitter[T]) part(yield func(T, error) bool) {
	var v T
	for {
		var err error
		var ok bool
		if v, ok, err = s.take(v); !ok || !yield(v, err) || err != nil {
			return
		}
	}
}

// take returns the next value, in the memory of old; not ok means that there is none.
func (s *splitter[T]) take(old T) (v T, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return v, true, s.err
	}
	next, err, ok := s.next()
	if err != nil || !ok {
		s.err = err
		return v, ok, err
	}
	return s.keep(old, next), true, nil
}

// fail ends the sequence.
func (s *splitter[T]) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// together runs n consumers at the same time, tells fail what the first of them to fail returns,
// and returns that when all have returned.
func together(n int, fail func(error), consume func(i int) error) error {
	var (
		wait  sync.WaitGroup
		once  sync.Once
		first error
	)
	for i := range n {
		wait.Go(func() {
			if err := consume(i); err != nil {
				once.Do(func() { first = err; fail(err) })
			}
		})
	}
	wait.Wait()
	return first
}
