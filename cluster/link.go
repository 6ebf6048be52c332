package cluster

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// window is how many frames of calls and data a host may send before the other has used the first of
	// them. It bounds what a link holds, so its reader never waits for its host and hears every sign of life.
	window = 32

	// refill is how many frames are used up before the other host is told.
	refill = window / 4

	// others is how many frames may come that need no room: the leader's start, or a host's word that it is ready.
	others = 2
)

// linger is how long the end of a link of a cluster that has failed waits for the other side.
const linger = 2 * time.Second

// A link is a connection to another host, after the handshake.
type link struct {
	host string
	rank int
	conn net.Conn
	opts Options

	heed func(abort) error // what the other host reports; nil where it may not

	in   chan frame    // what collectives wait for; closed after done
	done chan struct{} // closed when nothing more comes
	err  error         // why; valid once done is closed
	told bool          // err came from the other host

	room chan struct{} // a token for each frame that the other host can take
	used int           // frames that came and that the other host has not been told of; of the collective's goroutine

	heard atomic.Int64 // when something last came, in nanoseconds since epoch

	quit   chan struct{} // closed when this host is through with the link
	ending sync.Once

	mu          sync.Mutex // of what is written
	torn        bool       // a frame was written in part
	interrupted atomic.Bool
}

// epoch is what link.heard counts from, by the monotonic clock.
var epoch = time.Now()

func newLink(conn net.Conn, host string, rank int, opts Options) *link {
	l := &link{
		host: host, rank: rank, conn: conn, opts: opts,
		in: make(chan frame, window+others), room: make(chan struct{}, window),
		done: make(chan struct{}), quit: make(chan struct{}),
	}
	for range window {
		l.room <- struct{}{}
	}
	l.heard.Store(int64(time.Since(epoch)))
	return l
}

// start starts the goroutines that read and that send signs of life. They are gone after end.
func (l *link) start(tasks *sync.WaitGroup) {
	tasks.Go(l.receive)
	tasks.Go(l.beat)
}

// receive reads frames until the connection ends.
func (l *link) receive() {
	defer close(l.in)
	defer close(l.done)
	r := bufio.NewReaderSize(patient{l}, 16<<10)
	for l.err == nil {
		f, err := readFrame(r)
		if err != nil {
			l.err = l.explain(err)
		} else {
			l.err = l.sort(f)
		}
	}
	if !errors.Is(l.err, errSilent) { // a stopped host may still go on and read why it was left
		l.conn.Close()
	}
}

// sort puts a frame where it belongs, and returns an error where it is the last one.
func (l *link) sort(f frame) error {
	switch f.kind {
	case kindBeat:
	case kindCall, kindData, kindStart, kindReady:
		select {
		case l.in <- f:
		case <-l.quit:
			f.recycle()
		default:
			return errors.New("it sent more than it was asked for")
		}
	case kindRoom:
		return l.widen(f.payload)
	case kindReport:
		a, err := parseAbort(f.payload)
		if err != nil || l.heed == nil {
			return errBadFrame
		}
		return l.heed(a)
	case kindAbort:
		a, err := parseAbort(f.payload)
		if err != nil {
			return err
		}
		l.told = true
		return a.error()
	case kindBye:
		return errEnded
	default:
		return errBadFrame
	}
	return nil
}

// widen takes room back that the other host has.
func (l *link) widen(payload []byte) error {
	if len(payload) != 4 {
		return errBadFrame
	}
	for range min(binary.LittleEndian.Uint32(payload), window+1) {
		select {
		case l.room <- struct{}{}:
		default:
			return errors.New("it has used more than it was sent")
		}
	}
	return nil
}

var errSilent = errors.New("nothing came from it")

// explain says what a read error means.
func (l *link) explain(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w for %v", errSilent, l.opts.Silence)
	case err == io.EOF:
		return errors.New("the connection ended")
	case err == io.ErrUnexpectedEOF:
		return errors.New("the connection ended inside a message")
	}
	return err
}

// patient reads from a link's connection and gives up after the silence. It looks twice: when this
// process itself was stopped for so long, what came meanwhile is there.
type patient struct{ *link }

func (p patient) Read(b []byte) (int, error) {
	for _, wait := range []time.Duration{p.opts.Silence * 3 / 4, p.opts.Silence / 4} {
		p.conn.SetReadDeadline(time.Now().Add(wait))
		n, err := p.conn.Read(b)
		if n > 0 {
			p.heard.Store(int64(time.Since(epoch)))
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, os.ErrDeadlineExceeded
}

// quiet returns for how long nothing has come.
func (l *link) quiet() time.Duration { return time.Since(epoch) - time.Duration(l.heard.Load()) }

// ended reports whether the other host has said goodbye.
func (l *link) ended() bool {
	select {
	case <-l.done:
		return l.err == errEnded
	default:
		return false
	}
}

// beat sends signs of life. While something else is being written there is no need of one.
func (l *link) beat() {
	beat := appendHeader(nil, kindBeat, 0)
	ticker := time.NewTicker(l.opts.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if l.mu.TryLock() {
				l.write(beat)
				l.mu.Unlock()
			}
		case <-l.done:
			return
		case <-l.quit:
			return
		}
	}
}

// recycle takes back a frame that was used up, and tells the other host of the room that this makes, now
// and then. Where that fails the reader finds out.
func (l *link) recycle(f frame) {
	f.recycle()
	if l.used++; l.used == refill {
		l.used = 0
		l.send(roomFrame(refill))
	}
}

// send writes frames.
func (l *link) send(frames ...[]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(frames...)
}

// write is send by who has the mutex.
func (l *link) write(frames ...[]byte) error {
	l.conn.SetWriteDeadline(time.Now().Add(l.opts.Silence))
	if l.torn || l.interrupted.Load() {
		return net.ErrClosed
	}
	due := 0
	for _, f := range frames {
		due += len(f)
	}
	n, err := l.put(frames, due)
	l.torn = n > 0 && n < due
	return err
}

// put writes frames with one system call where that is possible.
func (l *link) put(frames [][]byte, due int) (int, error) {
	if len(frames) == 1 {
		return l.conn.Write(frames[0])
	}
	if _, ok := l.conn.(*net.TCPConn); ok && due > directLimit {
		parts := net.Buffers(frames)
		n, err := parts.WriteTo(l.conn)
		return int(n), err
	}
	all := make([]byte, 0, due)
	for _, f := range frames {
		all = append(all, f...)
	}
	return l.conn.Write(all)
}

// interrupt lets nothing more be written, and what is being written end after the given time.
func (l *link) interrupt(after time.Duration) {
	l.interrupted.Store(true)
	l.conn.SetWriteDeadline(time.Now().Add(after))
}

// end sends the last frame, gives the other host some time to read what is on its way, and closes the
// connection. A connection that is closed with something unread would lose it.
func (l *link) end(last []byte, linger time.Duration) {
	l.ending.Do(func() { close(l.quit) })
	if !l.interrupted.Load() {
		l.interrupt(linger)
	}
	l.mu.Lock()
	if !l.torn {
		l.conn.SetWriteDeadline(time.Now().Add(linger))
		l.conn.Write(last)
	}
	if half, ok := l.conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	l.mu.Unlock()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
	}
	l.conn.Close()
	<-l.done
}
