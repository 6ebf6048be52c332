package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// handshakes is how many strangers may be at the leader's door at a time.
const handshakes = 64

// A clock is how long a rendezvous may take, and when it is to be reported.
type clock struct {
	deadline *time.Timer
	reminder *time.Ticker
	backoff  time.Duration
}

func (s *star) clock() *clock {
	return &clock{time.NewTimer(s.opts.Rendezvous), time.NewTicker(s.opts.Reminder), 100 * time.Millisecond}
}

func (c *clock) stop() {
	c.deadline.Stop()
	c.reminder.Stop()
}

// late is the error at the deadline.
func (s *star) late(missing string, err error) error {
	if err != nil {
		missing += ": " + err.Error()
	}
	return fmt.Errorf("cluster: not all hosts came within %v: missing %s", s.opts.Rendezvous, missing)
}

// pause waits before another try, longer each time, and reports who is missing.
func (s *star) pause(ctx context.Context, c *clock, missing string, err error) error {
	timer := time.NewTimer(c.backoff)
	defer timer.Stop()
	c.backoff = min(2*c.backoff, 5*time.Second)
	for {
		select {
		case <-timer.C:
			return nil
		case <-c.reminder.C:
			s.opts.Logger.Info("cluster: waiting for hosts", "missing", missing, "err", err)
		case <-c.deadline.C:
			return s.late(missing, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// follow is the rendezvous on a host other than the leader: it dials until the leader takes it in, and
// then waits until all are there. The leader keeps the deadline for those whom it has taken in.
func (s *star) follow(ctx context.Context) error {
	clock := s.clock()
	defer clock.stop()
	for {
		l, err := s.join(ctx)
		if err == nil {
			s.adopt(l, 0)
			return s.awaitStart(ctx, clock, l)
		}
		if refused, ok := errors.AsType[*refusedError](err); ok && refused.Final {
			return fmt.Errorf("cluster: leader %s refuses this host: %w", s.hosts[0], err)
		}
		if err := s.pause(ctx, clock, s.hosts[0], err); err != nil {
			return err
		}
	}
}

// awaitStart waits for the frame that says that all are there.
func (s *star) awaitStart(ctx context.Context, c *clock, l *link) error {
	for {
		select {
		case f, ok := <-l.in:
			switch {
			case ok && f.kind == kindStart:
				return nil
			case ok:
				return s.lose(l, errBadFrame)
			case l.err == errEnded:
				return s.missed(ctx, l)
			}
			<-s.failed // watch says why
			return s.err
		case <-c.reminder.C:
			s.opts.Logger.Info("cluster: the leader waits for other hosts", "leader", s.hosts[0])
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// An arrival is a connection whose host has introduced itself.
type arrival struct {
	conn  net.Conn
	hello hello
}

// lead is the rendezvous on the leader: it listens until all other hosts have come.
func (s *star) lead(ctx context.Context) error {
	clock := s.clock()
	defer clock.stop()
	listener, err := s.listen(ctx, clock)
	if err != nil {
		return err
	}
	door := s.open(ctx, listener)
	defer door.shut()
	for {
		missing := s.missing()
		if missing == "" {
			for _, l := range s.links {
				l.send(appendHeader(nil, kindStart, 0)) // watch finds out where that fails
			}
			return nil
		}
		select {
		case a := <-door.arrivals:
			s.admit(a)
		case l := <-s.goodbyes:
			return s.missed(ctx, l)
		case <-s.failed:
			return s.err
		case <-clock.reminder.C:
			s.opts.Logger.Info("cluster: waiting for hosts", "missing", missing)
		case <-clock.deadline.C:
			return s.late(missing, nil)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// listen listens at the leader's address, as soon as its name resolves.
func (s *star) listen(ctx context.Context, c *clock) (net.Listener, error) {
	self := s.hosts[0]
	for {
		listener, err := s.tryListen(ctx)
		if err == nil {
			return listener, nil
		}
		if err := s.pause(ctx, c, self, err); err != nil {
			return nil, err
		}
	}
}

// tryListen listens once.
func (s *star) tryListen(ctx context.Context) (net.Listener, error) {
	address := s.opts.address(s.hosts[0])
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if s.opts.Addresses[s.hosts[0]] != "" {
		return new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	return listenAt(ctx, addresses, port)
}

// listenAt listens at the first address that is this machine's; who dials the name tries them all. One of this machine's
// loopback, as some distributions have it, would keep the other hosts out, so that listens on all interfaces.
func listenAt(ctx context.Context, addresses []netip.Addr, port string) (_ net.Listener, err error) {
	for _, address := range addresses {
		host := address.String()
		if address.IsLoopback() {
			host = ""
		}
		listener, one := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
		if one == nil {
			return listener, nil
		}
		err = cmp.Or(err, one)
	}
	return nil, err
}

// missing names the hosts that have not come.
func (s *star) missing() string {
	var names []string
	for i, l := range s.links {
		if l == nil {
			names = append(names, s.hosts[i+1])
		}
	}
	return strings.Join(names, ", ")
}

// admit takes a host in, or refuses it.
func (s *star) admit(a arrival) {
	r := s.check(a.hello)
	if r == nil && s.links[a.hello.Rank-1] != nil {
		r = &refusal{Reason: fmt.Sprintf("it has a host of rank %d, from %v", a.hello.Rank, s.links[a.hello.Rank-1].conn.RemoteAddr())}
	}
	if r != nil {
		s.opts.Logger.Warn("cluster: refused a host", "from", a.conn.RemoteAddr().String(), "host", a.hello.Host, "reason", "the leader: "+r.Reason)
		a.conn.Write(textFrame(kindRefused, r))
		a.conn.Close()
		return
	}
	l := newLink(a.conn, s.hosts[a.hello.Rank], s.opts)
	l.send(appendHeader(nil, kindWelcome, 0)) // watch finds out where that fails
	s.adopt(l, a.hello.Rank-1)
}

// A door is where hosts, and strangers, arrive.
type door struct {
	arrivals chan arrival
	listener net.Listener
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
}

func (s *star) open(ctx context.Context, listener net.Listener) *door {
	ctx, cancel := context.WithCancel(ctx)
	d := &door{arrivals: make(chan arrival), listener: listener, cancel: cancel}
	d.tasks.Go(func() { d.accept(ctx, s.opts.Silence) })
	return d
}

// shut returns when nobody is at the door any more.
func (d *door) shut() {
	d.cancel()
	d.listener.Close()
	d.tasks.Wait()
}

func (d *door) accept(ctx context.Context, silence time.Duration) {
	slots := make(chan struct{}, handshakes)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := d.listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, say: those that are at the door go within the silence.
			<-slots
			pauseFor(ctx, 100*time.Millisecond)
			continue
		}
		d.tasks.Go(func() {
			defer func() { <-slots }()
			d.greet(ctx, conn, silence)
		})
	}
}

func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// greet hands a connection over whose host introduces itself in time.
func (d *door) greet(ctx context.Context, conn net.Conn, silence time.Duration) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetDeadline(time.Now().Add(silence))
	h, err := readHello(conn)
	if err != nil || !waits(conn) {
		conn.Close()
		return
	}
	if !stop() {
		return
	}
	select {
	case d.arrivals <- arrival{conn, h}:
	case <-ctx.Done():
		conn.Close()
	}
}
