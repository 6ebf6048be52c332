package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// handshakes is how many strangers may be at a door at a time. One more makes the one that has been there
// longest go: hosts are through in no time.
const handshakes = 64

// A door is where hosts, and strangers, arrive.
type door struct {
	arrivals chan guest
	listener net.Listener
	opts     Options
	cancel   context.CancelFunc
	tasks    sync.WaitGroup

	mu      sync.Mutex
	waiting []net.Conn // strangers, who came first in front
}

// open lets hosts in at a listener. shut must be called.
func (m *mesh) open(ctx context.Context, listener net.Listener) *door {
	ctx, cancel := context.WithCancel(ctx)
	d := &door{arrivals: make(chan guest), listener: listener, opts: m.opts, cancel: cancel}
	d.tasks.Go(func() { d.accept(ctx) })
	return d
}

func (d *door) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

// shut returns when nobody is at the door any more.
func (d *door) shut() {
	d.cancel()
	d.listener.Close()
	d.tasks.Wait()
}

func (d *door) accept(ctx context.Context) {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			d.makeRoom(0) // out of descriptors, say
			pauseFor(ctx, 100*time.Millisecond)
			continue
		}
		d.makeRoom(handshakes - 1)
		d.mu.Lock()
		d.waiting = append(d.waiting, conn)
		d.mu.Unlock()
		d.tasks.Go(func() { d.greet(ctx, conn) })
	}
}

// makeRoom hangs up on who came first, where more than so many wait.
func (d *door) makeRoom(most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) > most {
		d.waiting[0].Close()
		d.waiting = slices.Delete(d.waiting, 0, 1)
	}
}

func (d *door) forget(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.waiting, conn); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
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

// greet hands a host over that introduces itself in time.
func (d *door) greet(ctx context.Context, raw net.Conn) {
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	conn := raw
	if d.opts.TLS != nil {
		conn = tls.Server(raw, d.opts.TLS)
	}
	conn.SetDeadline(time.Now().Add(d.opts.Silence))
	g, err := receive(conn, d.opts.Secret)
	ok := err == nil && waits(conn)
	d.forget(raw)
	if !ok {
		conn.Close()
		return
	}
	if !stop() {
		return
	}
	select {
	case d.arrivals <- g:
	case <-ctx.Done():
		conn.Close()
	}
}
