package platform

import (
	"sync"
	"time"
)

// A phase is what a pipe waits for.
type phase int

const (
	unopened phase = iota // its reader
	starved               // data from its Source
	blocked               // its reader to take data
	ended                 // nothing any more
)

// A stopwatch adds up how long a pipe waits for what. It starts with the first call of enter.
type stopwatch struct {
	mu    sync.Mutex
	phase phase
	since time.Time // the phase began
	spent [ended + 1]time.Duration
}

func (s *stopwatch) enter(next phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.since.IsZero() {
		s.spent[s.phase] += now.Sub(s.since)
	}
	s.phase, s.since = next, now
}

// times returns what has been spent in each phase, up to now.
func (s *stopwatch) times() [ended + 1]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	spent := s.spent
	if !s.since.IsZero() {
		spent[s.phase] += time.Since(s.since)
	}
	return spent
}

// in returns for how long the phase has lasted, 0 in another one.
func (s *stopwatch) in(p phase) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != p || s.since.IsZero() {
		return 0
	}
	return time.Since(s.since)
}
