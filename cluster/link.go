package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// window is how many data frames a host sends before the first of them is answered. It bounds what
// a link holds, so its reader never waits for its host and hears every sign of life.
const window = 16

// linger is how long the end of a link waits for the other side.
const linger = 2 * time.Second

// A link is a connection to another host, after the handshake.
type link struct {
	host string
	conn net.Conn
	opts Options

	in   chan frame    // what collectives wait for; closed after done
	free chan []byte   // buffers to be used again
	done chan struct{} // closed when nothing more comes
	err  error         // why; valid once done is closed
	told bool          // err came from the other host, which tells all

	quit   chan struct{} // closed when this host is through with the link
	ending sync.Once

	mu          sync.Mutex // of what is written
	torn        bool       // a frame was written in part
	interrupted atomic.Bool
}

func newLink(conn net.Conn, host string, opts Options) *link {
	return &link{
		host: host, conn: conn, opts: opts,
		in: make(chan frame, window+2), free: make(chan []byte, window+2),
		done: make(chan struct{}), quit: make(chan struct{}),
	}
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
	r := bufio.NewReaderSize(patient{l}, 4<<10)
	for l.err == nil {
		f, err := readFrame(r, l.buffer())
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
	case kindCall, kindData, kindStart:
		select {
		case l.in <- f:
		case <-l.quit:
		default:
			return errors.New("it sent more than it was asked for")
		}
		return nil
	case kindAbort:
		a, err := parseText[abort](f.payload)
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
	l.recycle(f)
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

func (l *link) buffer() []byte {
	select {
	case b := <-l.free:
		return b
	default:
		return nil
	}
}

// recycle takes back the memory of a frame.
func (l *link) recycle(f frame) {
	if cap(f.payload) < chunkSize {
		return
	}
	select {
	case l.free <- f.payload:
	default:
	}
}

// patient reads from a link's connection and gives up after the silence. It looks twice: when this
// process itself was stopped for so long, what came meanwhile is there.
type patient struct{ *link }

func (p patient) Read(b []byte) (int, error) {
	for _, wait := range []time.Duration{p.opts.Silence * 3 / 4, p.opts.Silence / 4} {
		p.conn.SetReadDeadline(time.Now().Add(wait))
		n, err := p.conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, os.ErrDeadlineExceeded
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

// send writes frames.
func (l *link) send(frames []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(frames)
}

// write is send by who has the mutex.
func (l *link) write(frames []byte) error {
	l.conn.SetWriteDeadline(time.Now().Add(l.opts.Silence))
	if l.torn || l.interrupted.Load() {
		return net.ErrClosed
	}
	n, err := l.conn.Write(frames)
	l.torn = n > 0 && n < len(frames)
	return err
}

// interrupt lets nothing more be written, and what is being written end after the given time.
func (l *link) interrupt(after time.Duration) {
	l.interrupted.Store(true)
	l.conn.SetWriteDeadline(time.Now().Add(after))
}

// end sends the last frame, gives the other host time to read what is on its way, and closes the
// connection. A connection that is closed with something unread would lose it.
func (l *link) end(last []byte) {
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
