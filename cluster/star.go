package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A star is the engine over TCP: the leader in the middle, connected to every other host. It adds up
// chunk by chunk as chunks come in from all hosts, and sends each sum back while the next ones are on
// their way, so memory does not grow with what is summed.
type star struct {
	hosts []string
	rank  int
	opts  Options

	base   context.Context // done when the star is closed
	cancel context.CancelCauseFunc

	busy   sync.Mutex // held by the collective under way
	met    bool       // all hosts are connected
	number uint64     // of collectives called
	out    []byte     // frames about to be sent

	tasks    sync.WaitGroup
	mu       sync.Mutex
	links    []*link       // on the leader one per rank from 1 on; elsewhere one, to the leader. Complete, and fixed, once met
	goodbyes chan *link    // those that ended
	failed   chan struct{} // closed when the cluster is over
	err      error         // why; valid then
}

func newStar(hosts []string, rank int, opts Options) *star {
	links := 1
	if rank == 0 {
		links = len(hosts) - 1
	}
	s := &star{
		hosts: slices.Clone(hosts), rank: rank, opts: opts.withDefaults(),
		links: make([]*link, links), goodbyes: make(chan *link, links), failed: make(chan struct{}),
	}
	s.base, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// locked calls f with a context that the star's end cancels too, unless another collective is
// under way.
func (s *star) locked(ctx context.Context, f func(ctx context.Context) error) error {
	if !s.busy.TryLock() {
		return errBusy
	}
	defer s.busy.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.base, func() { cancel(context.Cause(s.base)) })()
	return f(ctx)
}

func (s *star) connect(ctx context.Context) error { return s.locked(ctx, s.meet) }

// meet connects the hosts, unless they are. An error is the end of the cluster.
func (s *star) meet(ctx context.Context) error {
	select {
	case <-s.failed:
		return s.err
	default:
	}
	if s.met {
		return nil
	}
	meet := s.follow
	if s.rank == 0 {
		meet = s.lead
	}
	err := meet(ctx)
	switch {
	case err == nil:
		s.met = true
	case ctx.Err() != nil:
		s.shut(err, bye)
	default:
		s.shut(err, abortFrame(err))
	}
	return err
}

// adopt makes a connection one of the star's links.
func (s *star) adopt(l *link, i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links[i] = l
	l.start(&s.tasks)
	s.tasks.Go(func() { s.watch(l) })
	if s.err != nil { // another link broke meanwhile
		s.tasks.Go(func() { l.end(abortFrame(s.err)) })
	}
}

// watch ends the cluster when a link breaks. A host that says goodbye may have done its part: it is
// missed when it is waited for.
func (s *star) watch(l *link) {
	<-l.done
	switch {
	case l.told:
		s.shut(l.err, abortFrame(l.err))
	case l.err == errEnded:
		s.goodbyes <- l
	default:
		s.lose(l, l.err)
	}
}

// lose ends the cluster because a host is lost, and returns why the cluster ended.
func (s *star) lose(l *link, err error) error {
	lost := &LostError{Host: l.host, Err: err}
	l.interrupt(0)
	s.shut(lost, abortFrame(lost))
	return s.err
}

// shut ends the cluster, unless it has ended, with a last frame to all other hosts.
func (s *star) shut(err error, last []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	close(s.failed)
	for _, l := range s.links {
		if l != nil {
			s.tasks.Go(func() { l.end(last) })
		}
	}
}

// patience is how long a cancelled collective lets the frame being written come to its end.
const patience = 500 * time.Millisecond

// abandon ends the cluster because a collective is cancelled.
func (s *star) abandon(cause error) {
	for _, l := range s.links {
		if l != nil {
			l.interrupt(patience)
		}
	}
	if cause != errClosed {
		cause = fmt.Errorf("cluster: a collective was cancelled: %w", cause)
	}
	s.shut(cause, bye)
}

var bye = appendHeader(nil, kindBye, 0)

func (s *star) close() {
	s.cancel(errClosed)
	s.busy.Lock() // the collective under way has failed
	defer s.busy.Unlock()
	s.shut(errClosed, bye)
	s.tasks.Wait()
}

func (s *star) do(ctx context.Context, c call) (gathered [][]byte, err error) {
	err = s.locked(ctx, func(ctx context.Context) error {
		if ctx.Err() != nil {
			s.abandon(context.Cause(ctx))
			return context.Cause(ctx)
		}
		if err := s.meet(ctx); err != nil {
			return err
		}
		defer context.AfterFunc(ctx, func() { s.abandon(context.Cause(ctx)) })()
		gathered, err = s.exchange(ctx, c)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	})
	return gathered, err
}

// exchange carries out a collective.
func (s *star) exchange(ctx context.Context, c call) ([][]byte, error) {
	s.number++
	switch {
	case s.rank > 0:
		return nil, s.takePart(ctx, c)
	case c.op == gather:
		return s.collect(ctx, c)
	}
	return nil, s.combine(ctx, c)
}

// next returns the next frame of a link, which must be of the given kind. What has come counts even
// when the host is lost meanwhile.
func (s *star) next(ctx context.Context, l *link, want kind) (frame, error) {
	var f frame
	ok := true
	select {
	case f, ok = <-l.in:
	default:
		select {
		case f, ok = <-l.in:
		case <-s.failed:
			return frame{}, s.err
		}
	}
	switch {
	case !ok && l.err == errEnded:
		return frame{}, s.missed(ctx, l)
	case !ok:
		<-s.failed // watch says why
		return frame{}, s.err
	case f.kind != want:
		return frame{}, s.lose(l, errBadFrame)
	}
	return f, nil
}

// missed is the end where a host is waited for that has ended. When the platform stops all hosts of
// a job, one may end before another has been told, so the context has a moment to tell.
func (s *star) missed(ctx context.Context, l *link) error {
	timer := time.NewTimer(s.opts.Heartbeat)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.failed:
		return s.err
	case <-timer.C:
		return s.lose(l, errEnded)
	}
}

// send sends frames to a link. A host that cannot be sent to may have said why before it left.
func (s *star) send(ctx context.Context, l *link, frames []byte) error {
	err := l.send(frames)
	if err == nil {
		return nil
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-s.failed:
		return s.err
	case <-l.done:
		if errors.Is(l.err, errEnded) {
			return s.missed(ctx, l)
		}
		<-s.failed
		return s.err
	case <-timer.C:
		return s.lose(l, err)
	}
}
