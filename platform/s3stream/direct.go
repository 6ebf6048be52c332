package s3stream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/algospec/algospec/internal/splice"
)

// Spliceable lets the kernel move what a Source delivers from the sockets of a
// transport into a pipe, where a Source has nothing to do with the bytes but
// to hand them on: they come by plain HTTP, S3 gives no checksum, nothing is
// transformed, and WriteTo's writer is a non-blocking pipe, as Go opens them. The
// transport must not have been used yet.
func Spliceable(t *http.Transport) { splice.Under(t) }

// A PipeWriter is a writer that WriteTo may pass over: bytes go into its
// descriptor, if that is of a non-blocking pipe, without a Write.
type PipeWriter interface {
	io.Writer
	syscall.Conn
	Blocked()      // the pipe is full: its reader is waited for
	Moved(n int64) // so many bytes have gone into the pipe
}

// A fetch is direct if its answer is left in the socket until its turn comes.
// What then becomes of it is a verdict: its bytes are copied into blocks, as
// those of other fetches, or the reader has had them moved into its pipe.
type direct struct {
	ready chan struct{} // closed when the answer has begun, or never will
	turn  chan verdict
	begun bool        // the reader has looked at it
	taken atomic.Bool // who sets it gives the verdict, or has none because it is over
}

type verdict bool

const (
	copied verdict = false
	moved  verdict = true
)

func newDirect() *direct { return &direct{ready: make(chan struct{}), turn: make(chan verdict, 1)} }

// await asks for the answer and waits for the verdict.
func (d *direct) await(ctx context.Context, b *body) (verdict, error) {
	err := b.begin()
	close(d.ready)
	if err != nil {
		return copied, nil // the error comes again
	}
	select {
	case v := <-d.turn:
		return v, nil
	case <-ctx.Done():
	}
	if !d.taken.Swap(true) {
		return copied, context.Cause(ctx)
	}
	return moved, nil // the reader sees the context, once the pipe lets it
}

// errDirect says that the next bytes may be moved.
var errDirect = errors.New("the answer waits in its socket")

// offer returns errDirect if the answer of the head can be moved, and
// otherwise has it copied.
func (d *delivery) offer() error {
	f := d.head
	if f.direct == nil || f.direct.begun {
		return nil
	}
	if err := wait(d, f.direct.ready); err != nil {
		return err
	}
	f.direct.begun = true
	if f.direct.taken.Swap(true) { // it is copied already, or over
		return nil
	}
	possible := f.body.plain && (f.sum == nil || f.sum.hash == nil)
	switch {
	case f.body.err != nil:
	case possible && d.pipe != nil:
		return errDirect
	case !possible:
		d.refuse()
	}
	f.direct.turn <- copied
	return nil
}

// copyDirect has answers copied that wait in their sockets, when that is what
// the pace wants by now: they would come over one connection at a time.
func (e *epoch) copyDirect() {
	if e.source.pace.direct() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.active {
		if d := f.direct; d != nil && !d.taken.Swap(true) {
			if f.to != unknown {
				f.widen(e.blocks.some(int(e.blocks.number(f.to-f.from)) - 1))
			}
			d.turn <- copied
		}
	}
}

// begin sends the request, again if that fails, and leaves the answer alone.
func (b *body) begin() error {
	for b.err == nil && b.answer == nil && b.at != b.to {
		if err := b.ask(); err != nil {
			b.failed(err)
		}
	}
	b.rest()
	return b.err
}

// trace has conn set to the connection that a request goes by.
func (b *body) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { b.conn, _ = info.Conn.(*splice.Conn) },
	})
}

// moveTo moves what is left into a pipe. Bytes that had already left the socket go through copied.
func (b *body) moveTo(m *splice.Move, copied func([]byte) error, progress func(n int)) error {
	b.mover = m
	b.conn.Begin(m)
	for {
		before := m.Moved
		n, err := b.Read(m.Buffer)
		if n > 0 && m.Moved == before {
			if err := copied(m.Buffer[:n]); err != nil {
				return err
			}
		}
		progress(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// asPipe returns w and its descriptor if that is of a pipe which bytes can be moved into.
func asPipe(w io.Writer) (PipeWriter, syscall.RawConn) {
	if file, ok := w.(*os.File); ok {
		w = filePipe{file}
	}
	p, ok := w.(PipeWriter)
	if !ok || !splice.Supported {
		return nil, nil
	}
	raw, err := p.SyscallConn()
	if err != nil || !splice.IsPipe(raw) {
		return nil, nil
	}
	return p, raw
}

type filePipe struct{ *os.File }

func (filePipe) Blocked()    {}
func (filePipe) Moved(int64) {}

// move has the kernel move the answer of the head into the pipe.
func (e *epoch) move(out *gatherer) error {
	d := e.delivery
	defer func() {
		d.head.body.Close()
		d.head.direct.turn <- moved
	}()
	if err := out.flush(); err != nil {
		return err
	}
	if e.buffer == nil {
		e.buffer = make([]byte, 1<<20)
	}
	b := d.head.body
	m := &splice.Move{Buffer: e.buffer, Pipe: d.pipe, Waiting: e.waiting(b, out.pipe)}
	var seen int64
	err := b.moveTo(m,
		func(p []byte) error { out.pass(p); return out.err },
		func(n int) {
			if m.Moved > seen {
				out.written += m.Moved - seen
				out.pipe.Moved(m.Moved - seen)
				seen = m.Moved
			}
			e.source.counts.bytes.Add(int64(n))
			e.source.counts.moved.Add(int64(n))
			e.places.advance(n)
		})
	if m.Err != nil {
		out.err = m.Err
	}
	return err
}

// waiting returns what a Move calls when it waits: only the socket may be late,
// and both take time.
func (e *epoch) waiting(b *body, pipe PipeWriter) func(what splice.Wait) {
	counts := &e.source.counts
	last, since := splice.Nothing, time.Time{}
	return func(what splice.Wait) {
		switch last {
		case splice.Socket:
			counts.waitedForS3.count(-1)
		case splice.Pipe:
			counts.waitedForReader.Add(int64(time.Since(since)))
		}
		switch last, since = what, time.Now(); what {
		case splice.Socket:
			counts.waitedForS3.count(1)
			b.watch.wait()
		case splice.Pipe:
			b.rest()
			pipe.Blocked()
		}
	}
}
