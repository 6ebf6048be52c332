package cluster

import (
	"context"
	"fmt"
	"sync"
)

// Loopback returns the views of n hosts in this process, algo-1 to algo-n, by rank, for tests: each is
// used by a goroutine of its own. It starts no goroutines; Close makes a host end early.
func Loopback(n int) []Cluster {
	clusters := make([]Cluster, max(1, n))
	if len(clusters) == 1 {
		return clusters
	}
	m := &meeting{calls: make([]*call, n), ended: make([]bool, n), over: make(chan struct{}), round: newRound()}
	for rank := range clusters {
		clusters[rank] = Cluster{rank: rank, size: n, engine: &seat{m, rank, make(chan struct{})}}
	}
	return clusters
}

// A meeting is where hosts in one process come together: the last to come does what all came for.
type meeting struct {
	mu     sync.Mutex
	number uint64
	calls  []*call // by rank; nil of a host that has not come yet
	ended  []bool
	round  *round
	err    error         // why the meeting is over
	over   chan struct{} // closed then
}

// A round is one collective.
type round struct {
	done     chan struct{}
	gathered [][][]byte // what each host returns; valid then
}

func newRound() *round { return &round{done: make(chan struct{})} }

// A seat is a host's place in a meeting.
type seat struct {
	*meeting
	rank   int
	closed chan struct{}
}

func (s *seat) connect(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *seat) do(ctx context.Context, c call) ([][]byte, error) {
	if ctx.Err() != nil {
		s.leave(ctx)
		return nil, context.Cause(ctx)
	}
	round, err := s.come(c)
	if err != nil {
		return nil, err
	}
	select {
	case <-round.done:
	case <-s.over:
	case <-s.closed:
	case <-ctx.Done():
		s.leave(ctx)
	}
	select {
	case <-round.done:
		return round.gathered[s.rank], nil
	default:
	}
	select {
	case <-s.closed:
		return nil, errClosed
	default:
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, s.err
	}
}

// come puts the call on the table, and carries the collective out where it was the last.
func (s *seat) come(c call) (*round, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended[s.rank]:
		return nil, errClosed
	case s.err != nil:
		return nil, s.err
	case s.calls[s.rank] != nil:
		return nil, errBusy
	}
	s.calls[s.rank] = &c
	s.checkEnded()
	missing := false
	for _, c := range s.calls {
		missing = missing || c == nil
	}
	round := s.round
	if !missing && s.err == nil {
		s.carryOut()
	}
	return round, nil
}

// checkEnded ends the meeting where a host is waited for that has ended.
func (s *seat) checkEnded() {
	waiting := false
	for _, c := range s.calls {
		waiting = waiting || c != nil
	}
	for rank, ended := range s.ended {
		if waiting && ended && s.calls[rank] == nil {
			s.fail(&LostError{Host: hostName(rank), Err: errEnded})
		}
	}
}

func hostName(rank int) string { return fmt.Sprintf("algo-%d", rank+1) }

func (m *meeting) fail(err error) {
	if m.err == nil {
		m.err = err
		close(m.over)
	}
}

// leave is what a host does whose context is done.
func (s *seat) leave(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(&LostError{Host: hostName(s.rank), Err: context.Cause(ctx)})
}

func (s *seat) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended[s.rank] {
		return
	}
	s.ended[s.rank] = true
	close(s.closed)
	s.calls[s.rank] = nil // of another goroutine, which fails
	s.checkEnded()
}

// carryOut does what all have come for, and opens the next round.
func (m *meeting) carryOut() {
	m.number++
	first := m.calls[0]
	for rank, c := range m.calls {
		if err := first.claim(m.number).differs(hostName(0), c.claim(m.number), hostName(rank)); err != nil {
			m.fail(err)
			return
		}
	}
	n := len(m.calls)
	m.round.gathered = make([][][]byte, n)
	switch first.op {
	case broadcast:
		for _, c := range m.calls {
			copy(c.memory, m.calls[first.root].memory)
		}
	case allReduce, reduceScatter:
		for _, c := range m.calls[1:] {
			first.reduce(first.memory, c.memory)
		}
		for rank, c := range m.calls[1:] {
			if first.op == allReduce {
				copy(c.memory, first.memory)
			} else {
				copy(c.share(rank+1, n), first.share(rank+1, n))
			}
		}
	case gather:
		m.round.gathered[0] = m.messages(0)
	case allGather:
		for rank := range m.calls {
			m.round.gathered[rank] = m.messages(rank)
		}
	}
	clear(m.calls)
	close(m.round.done)
	m.round = newRound()
}

// messages returns what all hosts have called with, for the host of a rank: copies, but for its own.
func (m *meeting) messages(rank int) [][]byte {
	messages := make([][]byte, len(m.calls))
	for other, c := range m.calls {
		messages[other] = c.message
		if other != rank {
			messages[other] = append([]byte{}, c.message...)
		}
	}
	return messages
}
