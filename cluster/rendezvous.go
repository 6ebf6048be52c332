package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A clock is how long a rendezvous may take, and when it is to be reported.
type clock struct {
	deadline *time.Timer
	reminder *time.Ticker
	backoff  time.Duration
}

func (m *mesh) clock(limit time.Duration) *clock {
	return &clock{time.NewTimer(limit), time.NewTicker(m.opts.Reminder), 100 * time.Millisecond}
}

func (c *clock) stop() {
	c.deadline.Stop()
	c.reminder.Stop()
}

// late is the error at the deadline.
func (m *mesh) late(missing string, err error) error {
	if err != nil {
		missing += ": " + err.Error()
	}
	return fmt.Errorf("cluster: not all hosts came within %v: missing %s", m.opts.Rendezvous, missing)
}

// pause waits before another try, longer each time, and reports who is missing.
func (m *mesh) pause(ctx context.Context, c *clock, missing string, err error) error {
	timer := time.NewTimer(c.backoff)
	defer timer.Stop()
	c.backoff = min(2*c.backoff, 5*time.Second)
	for {
		select {
		case <-timer.C:
			return nil
		case <-c.reminder.C:
			m.opts.Logger.Info("cluster: waiting for hosts", "missing", missing, "err", err)
		case <-c.deadline.C:
			return m.late(missing, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A start is what the leader tells all others when all have come: where each of them listens, by rank.
type start struct{ Addresses []string }

// follow is the rendezvous on a host other than the leader: it dials until the leader takes it in, waits until
// all are there, and connects to the others. The leader keeps the deadline for those whom it has taken in.
func (m *mesh) follow(ctx context.Context) error {
	clock := m.clock(m.opts.Rendezvous)
	defer clock.stop()
	var door *door
	defer func() {
		if door != nil {
			door.shut()
		}
	}()
	port := func(conn net.Conn) (_ int, err error) {
		if door == nil {
			listener, err := m.listenBeside(ctx, conn)
			if err != nil {
				return 0, err
			}
			door = m.open(ctx, listener)
		}
		return door.port(), nil
	}
	for {
		l, err := m.join(ctx, 0, m.opts.address(m.hosts[0]), port)
		if err == nil {
			m.adopt(l)
			s, err := m.awaitStart(ctx, clock, l)
			if err != nil {
				return err
			}
			return m.meetOthers(ctx, l, door, s.Addresses)
		}
		if refused, ok := errors.AsType[*refusedError](err); ok && refused.Final {
			return fmt.Errorf("cluster: leader %s refuses this host: %w", m.hosts[0], err)
		}
		if err := m.pause(ctx, clock, m.hosts[0], err); err != nil {
			return err
		}
	}
}

// listenBeside listens where a connection to the leader comes from: there the others can reach this host as
// well. The port is that of the leader where it is free; on a loopback interface many hosts may share an address.
func (m *mesh) listenBeside(ctx context.Context, conn net.Conn) (net.Listener, error) {
	if own := m.opts.Addresses[m.hosts[m.rank]]; own != "" {
		listener, err := listening.Listen(ctx, "tcp", m.opts.address(m.hosts[m.rank]))
		if err == nil {
			return listener, nil
		}
		if _, _, noPort := net.SplitHostPort(own); noPort == nil {
			return nil, err
		}
		return listening.Listen(ctx, "tcp", net.JoinHostPort(own, "0")) // hosts share the address
	}
	local := *conn.LocalAddr().(*net.TCPAddr)
	local.Port = m.opts.Port
	if !local.IP.IsLoopback() {
		if listener, err := listening.Listen(ctx, "tcp", local.String()); err == nil {
			return listener, nil
		}
	}
	local.Port = 0
	return listening.Listen(ctx, "tcp", local.String())
}

// awaitStart waits for the frame that says that all are there.
func (m *mesh) awaitStart(ctx context.Context, c *clock, l *link) (start, error) {
	for {
		select {
		case f, ok := <-l.in:
			if ok && f.kind == kindStart {
				if s, err := parseText[start](f.payload); err == nil && len(s.Addresses) == len(m.hosts) {
					return s, nil
				}
			}
			switch {
			case ok:
				m.lose(l, errBadFrame)
			case l.err == errEnded:
				return start{}, m.missed(ctx, l)
			}
			return start{}, m.verdict()
		case <-c.reminder.C:
			m.opts.Logger.Info("cluster: the leader waits for other hosts", "leader", m.hosts[0])
		case <-ctx.Done():
			return start{}, context.Cause(ctx)
		}
	}
}

// meetingLimit is how long hosts may take to connect to each other once all have come.
const meetingLimit = time.Minute

// meetOthers connects a host other than the leader to those of higher rank, which dial, and to those of
// lower rank, which it dials.
func (m *mesh) meetOthers(ctx context.Context, leader *link, door *door, addresses []string) error {
	clock := m.clock(min(m.opts.Rendezvous, meetingLimit))
	defer clock.stop()
	results, stop := m.dialAll(ctx, door, addresses)
	defer stop()
	trouble := make([]error, len(m.hosts))
	for missing := m.missing(); missing != ""; missing = m.missing() {
		select {
		case g := <-door.arrivals:
			m.admit(g)
		case r := <-results:
			if trouble[r.rank] = r.err; r.err == nil {
				m.adopt(r.link)
			}
		case <-m.failed:
			return m.err
		case <-clock.reminder.C:
			m.opts.Logger.Info("cluster: connecting to hosts", "missing", missing, "err", errors.Join(trouble...))
		case <-clock.deadline.C:
			return m.unreachable(missing, addresses, trouble)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	leader.send(appendHeader(nil, kindReady, 0)) // watch finds out where that fails
	return nil
}

// unreachable is the error of a host to which others do not connect, though all have come.
func (m *mesh) unreachable(missing string, addresses []string, trouble []error) error {
	why := "nobody dials from there"
	for rank, err := range trouble {
		if err != nil {
			why = addresses[rank] + ": " + err.Error()
			break
		}
	}
	return fmt.Errorf("cluster: host %s is not connected to %s: %s", m.hosts[m.rank], missing, why)
}

// A dialled is how an attempt to connect to the host of a rank came out.
type dialled struct {
	rank int
	link *link
	err  error
}

// dialAll dials the hosts between the leader and this one, until they take it in. stop returns when nobody
// dials any more.
func (m *mesh) dialAll(ctx context.Context, door *door, addresses []string) (results chan dialled, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	results = make(chan dialled)
	var dialling sync.WaitGroup
	for rank := 1; rank < m.rank; rank++ {
		dialling.Go(func() { m.dialOne(ctx, rank, addresses[rank], door, results) })
	}
	return results, func() {
		cancel()
		dialling.Wait()
	}
}

func (m *mesh) dialOne(ctx context.Context, rank int, address string, door *door, results chan dialled) {
	for backoff := 20 * time.Millisecond; ctx.Err() == nil; backoff = min(2*backoff, time.Second) {
		l, err := m.join(ctx, rank, address, func(net.Conn) (int, error) { return door.port(), nil })
		select {
		case results <- dialled{rank, l, err}:
		case <-ctx.Done():
			if err == nil {
				l.conn.Close()
			}
		}
		if err == nil {
			return
		}
		pauseFor(ctx, backoff)
	}
}

// lead is the rendezvous on the leader: it listens until all other hosts have come, tells them where the others
// are, and waits until they are connected.
func (m *mesh) lead(ctx context.Context) error {
	clock := m.clock(m.opts.Rendezvous)
	defer clock.stop()
	listener, err := m.listen(ctx, clock)
	if err != nil {
		return err
	}
	door := m.open(ctx, listener)
	defer door.shut()
	addresses := make([]string, len(m.hosts))
	for missing := m.missing(); missing != ""; missing = m.missing() {
		select {
		case g := <-door.arrivals:
			if m.admit(g) {
				addresses[g.hello.Rank] = m.whereabouts(g)
			}
		case l := <-m.goodbyes:
			return m.missed(ctx, l)
		case <-m.failed:
			return m.err
		case <-clock.reminder.C:
			m.opts.Logger.Info("cluster: waiting for hosts", "missing", missing)
		case <-clock.deadline.C:
			return m.late(missing, nil)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for _, l := range m.others() {
		l.send(textFrame(kindStart, start{addresses})) // watch finds out where that fails
	}
	return m.awaitReady(ctx)
}

// whereabouts returns where a guest listens: at the address it comes from, unless another one is known.
func (m *mesh) whereabouts(g guest) string {
	host := g.conn.RemoteAddr().(*net.TCPAddr).IP.String()
	if address := m.opts.Addresses[m.hosts[g.hello.Rank]]; address != "" {
		host, _, _ = net.SplitHostPort(m.opts.address(m.hosts[g.hello.Rank]))
	}
	return net.JoinHostPort(host, strconv.Itoa(g.hello.Port))
}

// awaitReady waits until all hosts are connected to all others. One that says goodbye meanwhile may have been
// ready before.
func (m *mesh) awaitReady(ctx context.Context) error {
	ready := make([]bool, len(m.hosts))
	for _, l := range m.others() {
		for !ready[l.rank] {
			f, ok, from := frame{}, false, l
			select {
			case f, ok = <-l.in:
			case from = <-m.goodbyes:
				if ready[from.rank] {
					continue
				}
				f, ok = <-from.in // buffered, or closed
			case <-m.failed:
				return m.err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			switch {
			case ok && f.kind == kindReady:
				ready[from.rank] = true
			case ok:
				m.lose(from, errBadFrame)
				return m.verdict()
			case from.err == errEnded:
				return m.missed(ctx, from)
			default:
				return m.verdict()
			}
		}
	}
	return nil
}

// listen listens at the leader's address, as soon as its name resolves.
func (m *mesh) listen(ctx context.Context, c *clock) (net.Listener, error) {
	self := m.hosts[0]
	for {
		listener, err := m.tryListen(ctx)
		if err == nil {
			return listener, nil
		}
		if err := m.pause(ctx, c, self, err); err != nil {
			return nil, err
		}
	}
}

// listening is without multipath TCP, whose listeners do not hand down what persist sets.
var listening = func() net.ListenConfig {
	config := net.ListenConfig{Control: persist}
	config.SetMultipathTCP(false)
	return config
}()

// tryListen listens once.
func (m *mesh) tryListen(ctx context.Context) (net.Listener, error) {
	address := m.opts.address(m.hosts[0])
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if m.opts.Addresses[m.hosts[0]] != "" {
		return listening.Listen(ctx, "tcp", address)
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
		listener, one := listening.Listen(ctx, "tcp", net.JoinHostPort(host, port))
		if one == nil {
			return listener, nil
		}
		err = cmp.Or(err, one)
	}
	return nil, err
}

// missing names the hosts that this one is not connected to.
func (m *mesh) missing() string {
	var names []string
	for rank, l := range m.links {
		if l == nil && rank != m.rank {
			names = append(names, m.hosts[rank])
		}
	}
	return strings.Join(names, ", ")
}

// admit takes a host in, or refuses it.
func (m *mesh) admit(g guest) bool {
	r := m.check(g.hello)
	if r == nil && m.links[g.hello.Rank] != nil {
		r = &refusal{Reason: fmt.Sprintf("it has a host of rank %d, from %v", g.hello.Rank, m.links[g.hello.Rank].conn.RemoteAddr())}
	}
	if r != nil {
		by := "it"
		if m.rank == 0 {
			by = "the leader"
		}
		m.opts.Logger.Warn("cluster: refused a host", "from", g.conn.RemoteAddr().String(), "host", g.hello.Host, "reason", by+": "+r.Reason)
		r.Proof = g.answer
		g.conn.Write(textFrame(kindRefused, r))
		g.conn.Close()
		return false
	}
	l := newLink(g.conn, m.hosts[g.hello.Rank], g.hello.Rank, m.opts)
	l.send(textFrame(kindWelcome, g.answer)) // watch finds out where that fails
	m.adopt(l)
	return true
}
