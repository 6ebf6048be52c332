// Package splice has the kernel move the body of an HTTP answer from its socket
// into a pipe, through net/http and whatever stands above it, which know nothing
// of it.
//
// A [Conn] is put under an http.Transport. Once it is told of a [Move], a Read
// into the Move's buffer moves bytes from the socket into the pipe instead, and
// returns how many, as if they were in the buffer. A Read into any other memory,
// as that of a bufio.Reader on the way, is an ordinary one: the caller finds out
// which it was from what the Move has counted.
package splice

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// A Conn is a TCP connection whose bytes can be moved.
type Conn struct {
	*net.TCPConn
	move atomic.Pointer[Move]
}

// Read reads, or moves bytes.
func (c *Conn) Read(p []byte) (int, error) {
	if m := c.move.Load(); m != nil && len(p) > 0 && &p[0] == &m.Buffer[0] {
		return m.splice(c.TCPConn, len(p))
	}
	return c.TCPConn.Read(p)
}

// A Wait is what a Move waits for.
type Wait int

const (
	Nothing Wait = iota
	Socket       // bytes to come
	Pipe         // its reader to take some
)

// Begin has Reads into m's buffer move bytes; nil ends that.
func (c *Conn) Begin(m *Move) { c.move.Store(m) }

// Under puts Conns under a transport, where its connections are TCP.
func Under(t *http.Transport) {
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			return &Conn{TCPConn: tcp}, err
		}
		return conn, err
	}
}
