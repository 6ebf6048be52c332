package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A mesh is the engine over TCP: every host is connected to every other. Numbers go directly between hosts;
// the leader compares what hosts call, and has the last word on which host is lost.
type mesh struct {
	hosts []string
	rank  int
	opts  Options

	base   context.Context // done when the mesh is closed
	cancel context.CancelCauseFunc

	busy   sync.Mutex // held by the collective under way
	met    bool       // all hosts are connected
	number uint64     // of collectives called

	tasks    sync.WaitGroup
	mu       sync.Mutex
	links    []*link       // by rank, nil at this host's. Complete, and fixed, once met
	goodbyes chan *link    // those that ended
	failed   chan struct{} // closed when the cluster is over
	err      error         // why; valid then
}

func newMesh(hosts []string, rank int, opts Options) *mesh {
	m := &mesh{
		hosts: slices.Clone(hosts), rank: rank, opts: opts.withDefaults(),
		links: make([]*link, len(hosts)), goodbyes: make(chan *link, len(hosts)), failed: make(chan struct{}),
	}
	m.base, m.cancel = context.WithCancelCause(context.Background())
	return m
}

// others are the links to all other hosts, from the next rank on: each host begins with another one.
func (m *mesh) others() []*link {
	return slices.Concat(m.links[m.rank+1:], m.links[:m.rank])
}

// locked calls f with a context that the mesh's end cancels too, unless another collective is
// under way.
func (m *mesh) locked(ctx context.Context, f func(ctx context.Context) error) error {
	if !m.busy.TryLock() {
		return errBusy
	}
	defer m.busy.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.base, func() { cancel(context.Cause(m.base)) })()
	return f(ctx)
}

func (m *mesh) connect(ctx context.Context) error { return m.locked(ctx, m.meet) }

// meet connects the hosts, unless they are. An error is the end of the cluster.
func (m *mesh) meet(ctx context.Context) error {
	select {
	case <-m.failed:
		return m.err
	default:
	}
	if m.met {
		return nil
	}
	meet := m.follow
	if m.rank == 0 {
		meet = m.lead
	}
	err := meet(ctx)
	switch {
	case err == nil:
		m.met = true
	case ctx.Err() != nil:
		m.shut(err, bye)
	default:
		m.shut(err, abortFrame(err))
	}
	return err
}

// adopt makes a connection one of the mesh's links.
func (m *mesh) adopt(l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rank == 0 {
		l.heed = m.heed
	}
	m.links[l.rank] = l
	l.start(&m.tasks)
	m.tasks.Go(func() { m.watch(l) })
	if m.err != nil { // another link broke meanwhile
		m.tasks.Go(func() { l.end(abortFrame(m.err), linger) })
	}
}

// watch deals with the end of a link. A host that says goodbye may have done its part: it is missed when
// it is waited for.
func (m *mesh) watch(l *link) {
	<-l.done
	switch {
	case l.err == errEnded:
		m.goodbyes <- l
	case !l.told:
		m.lose(l, l.err)
	case m.rank == 0, l.rank == 0:
		m.shut(l.err, abortFrame(l.err))
	default:
		m.suspect(l.err)
	}
}

// lose ends the cluster because a host is lost. A host other than the leader leaves it to the leader to
// say so, and to say which one, unless it is the leader that is lost, or this host.
func (m *mesh) lose(l *link, err error) {
	l.interrupt(0)
	select {
	case <-m.failed: // the other host has read this one's last frame, and hung up
		return
	default:
	}
	lost := &LostError{Host: l.host, Err: err}
	if errors.Is(err, errSilent) && m.deaf() {
		lost = &LostError{Host: m.hosts[m.rank], Err: errDeaf}
	}
	if m.rank == 0 || l.rank == 0 || lost.Err == errDeaf {
		m.shut(lost, abortFrame(lost))
		return
	}
	m.tasks.Go(func() { m.leader().send(textFrame(kindReport, abortOf(lost))) })
	m.suspect(lost)
}

var errDeaf = errors.New("it hears none of the other hosts")

// deaf reports whether this host hears none of at least two others: then it is this one that is cut off.
func (m *mesh) deaf() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	silent := 0
	for _, l := range m.links {
		if l == nil || l.ended() {
			continue
		}
		if l.quiet() < m.opts.Silence/2 {
			return false
		}
		silent++
	}
	return silent > 1
}

func (m *mesh) leader() *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.links[0]
}

// suspect ends the cluster of a host other than the leader with an error that the leader has not confirmed:
// as soon as the leader says something else, or is lost itself, or has ended, or after the silence.
func (m *mesh) suspect(err error) {
	m.tasks.Go(func() {
		leader := m.leader()
		timer := time.NewTimer(m.opts.Silence)
		defer timer.Stop()
		select {
		case <-m.failed:
			return
		case <-leader.done:
			if leader.err != errEnded { // watch says why
				return
			}
		case <-timer.C:
		}
		m.shut(err, abortFrame(err))
	})
}

// heed is what the leader does when another host reports that one is lost.
func (m *mesh) heed(a abort) error {
	if !slices.Contains(m.hosts, a.Lost) {
		return errBadFrame
	}
	m.shut(a.error(), abortFrame(a.error()))
	return nil
}

// shut ends the cluster, unless it has ended, with a last frame to all other hosts.
func (m *mesh) shut(err error, last []byte) { m.part(err, last, linger) }

// part is shut with the time that other hosts have to read what is on its way to them.
func (m *mesh) part(err error, last []byte, linger time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	m.err = err
	close(m.failed)
	for _, l := range m.links {
		if l != nil {
			m.tasks.Go(func() { l.end(last, linger) })
		}
	}
}

// patience is how long a cancelled collective lets the frame being written come to its end.
const patience = 500 * time.Millisecond

// abandon ends the cluster because a collective is cancelled.
func (m *mesh) abandon(cause error) {
	for _, l := range m.others() {
		l.interrupt(patience)
	}
	if cause != errClosed {
		cause = fmt.Errorf("cluster: a collective was cancelled: %w", cause)
	}
	m.shut(cause, bye)
}

var bye = appendHeader(nil, kindBye, 0)

// close of a sound cluster waits until the last numbers have come to all other hosts, which they tell by
// closing their ends.
func (m *mesh) close() {
	m.cancel(errClosed)
	m.busy.Lock() // the collective under way has failed
	defer m.busy.Unlock()
	m.part(errClosed, bye, m.opts.Silence)
	m.tasks.Wait()
}

func (m *mesh) do(ctx context.Context, c call) (gathered [][]byte, err error) {
	err = m.locked(ctx, func(ctx context.Context) error {
		if ctx.Err() != nil {
			m.shut(fmt.Errorf("cluster: a collective was cancelled: %w", context.Cause(ctx)), bye)
			return context.Cause(ctx)
		}
		if err := m.meet(ctx); err != nil {
			return err
		}
		defer context.AfterFunc(ctx, func() { m.abandon(context.Cause(ctx)) })()
		m.number++
		gathered, err = (&exchange{mesh: m, ctx: ctx, call: c, claim: c.claim(m.number)}).run()
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	})
	return gathered, err
}

// verdict waits until the cluster is over, and returns why. It is called where that is certain to come: an
// end of a link is dealt with by watch, and calls that differ by the leader.
func (m *mesh) verdict() error {
	<-m.failed
	return m.err
}

// missed is the end where a host is waited for that has ended. When the platform stops all hosts of
// a job, one may end before another has been told, so the context has a moment to tell.
func (m *mesh) missed(ctx context.Context, l *link) error {
	timer := time.NewTimer(m.opts.Heartbeat)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.failed:
	case <-timer.C:
		m.lose(l, errEnded)
	}
	return m.verdict()
}
