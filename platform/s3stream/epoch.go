package s3stream

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// An epoch is one pass over the source's list. A goroutine of its own starts
// the fetches, and the queue hands them over in the order of the stream.
type epoch struct {
	source   *Source
	ctx      context.Context
	cancel   context.CancelCauseFunc
	blocks   *blocks
	queue    chan *fetch   // closed after the last
	done     chan struct{} // closed when no goroutine is left
	begin    func()        // starts the first goroutine
	begun    sync.Once     // at the first read: who writes into a pipe says so first
	delivery *delivery
	stream   stream // delivery, or what is made of it
	places   places

	mu     sync.Mutex
	active map[*body]*fetch // requests that run
	freed  sync.Cond        // a place among them, or a change of their limit

	reading  sync.Mutex // held while the stream is used
	closed   sync.Once
	closeErr error

	piped  atomic.Bool // the bytes go into a pipe, as they are
	buffer []byte      // of move

	rest []byte    // of the chunk that is being read
	left time.Time // when the last Read returned; zero before the first
	err  error     // what Read returns from now on
}

// queueLength bounds what is planned ahead, where it takes no memory: texts and empty objects.
const queueLength = 1024

var errClosed = fmt.Errorf("s3stream: %w", os.ErrClosed)

func newEpoch(ctx context.Context, s *Source, number int) *epoch {
	e := &epoch{source: s, blocks: newBlocks(s), done: make(chan struct{}), active: map[*body]*fetch{}}
	e.freed.L = &e.mu
	e.ctx, e.cancel = context.WithCancelCause(ctx)
	e.queue = make(chan *fetch, queueLength)
	e.delivery = &delivery{ctx: e.ctx, queue: e.queue, counts: &s.counts, moved: func(Item) {}, refuse: s.pace.refuse}
	if !s.opts.transforms() {
		e.delivery.moved = e.places.add
	}
	e.stream = transform(e.delivery, s.opts)
	s.counts.epochs.Add(1)
	e.begin = func() { go e.fetchAll(number) }
	return e
}

// fetchAll starts a fetch per part, in order, as memory and the limit of
// requests allow.
func (e *epoch) fetchAll(number int) {
	defer close(e.done)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(e.observe)
	stop := context.AfterFunc(e.ctx, e.wake)
	defer stop()
	s := e.source
	for p, err := range plan(s.Items(number), s.pace.partSize, int64(e.blocks.size)) {
		f := newFetch(p, nil, e.blocks, nil)
		if err != nil {
			f.err = err
		} else if p.fetched() {
			if f, err = e.start(p, &running); err != nil {
				return // the reader sees the context
			}
		}
		select {
		case e.queue <- f:
		case <-e.ctx.Done():
			return
		}
	}
	close(e.queue)
}

// start begins to fetch a part when there are blocks for it and a place among the requests.
func (e *epoch) start(p part, running *sync.WaitGroup) (*fetch, error) {
	s := e.source
	direct := e.piped.Load() && s.pace.direct()
	reserved, err := e.reserve(p, direct && s.pace.proven())
	if err != nil {
		return nil, err
	}
	b := &body{ctx: e.ctx, client: s.client, object: p.Object, at: p.from, to: p.to, opts: s.opts, counts: &s.counts, pace: s.pace}
	b.progress = p.from
	f := newFetch(p, b, e.blocks, reserved)
	if direct {
		f.direct = newDirect()
	}
	if !e.enter(f) {
		e.leave(b)
		return nil, context.Cause(e.ctx)
	}
	if p.sum != nil && p.from == 0 {
		running.Go(func() { p.sum.ask(e.ctx, s.client, p.Object, s.opts) })
	}
	running.Go(func() {
		defer e.leave(b)
		f.run(e.ctx)
	})
	return f, nil
}

// reserve takes the blocks that a part needs, or its share of the memory if that is less.
func (e *epoch) reserve(p part, moved bool) ([][]byte, error) {
	if moved {
		return e.blocks.take(e.ctx, 1) // it will rarely be used
	}
	if p.to == unknown {
		return e.blocks.take(e.ctx, math.MaxInt64)
	}
	return e.blocks.take(e.ctx, e.blocks.number(p.to-p.from))
}

// wake has who waits for blocks or a place look again.
func (e *epoch) wake() {
	e.blocks.wake()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.freed.Broadcast()
}

// enter waits for a place among the requests.
func (e *epoch) enter(f *fetch) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.active) >= e.source.pace.limit() && e.ctx.Err() == nil {
		e.freed.Wait()
	}
	e.active[f.body] = f
	e.source.counts.active.Add(1)
	return e.ctx.Err() == nil
}

func (e *epoch) leave(b *body) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.active, b)
	e.source.counts.active.Add(-1)
	e.freed.Signal()
}

// Read implements io.Reader.
func (e *epoch) Read(p []byte) (int, error) {
	if !e.blocks.use() {
		return 0, e.gone()
	}
	defer e.blocks.leave()
	if !e.left.IsZero() {
		e.source.counts.waitedForReader.Add(int64(time.Since(e.left)))
	}
	defer func() { e.left = time.Now() }()
	if len(p) == 0 {
		return 0, nil
	}
	if err := e.fill(); err != nil {
		return 0, err
	}
	n := copy(p, e.rest)
	e.deliver(n)
	return n, nil
}

// WriteTo implements io.WriterTo. Chunks that are large are written as they
// are; small ones are put together as long as S3 is not waited for.
func (e *epoch) WriteTo(w io.Writer) (int64, error) {
	if !e.blocks.use() {
		if err := e.gone(); err != io.EOF {
			return 0, err
		}
		return 0, nil
	}
	defer e.blocks.leave()
	out := &gatherer{to: w, counts: &e.source.counts}
	e.delivery.before = func() error { // the writer may block, which Close does not wait for
		e.reading.Unlock()
		defer e.reading.Lock()
		return out.flush()
	}
	out.pipe, e.delivery.pipe = asPipe(w)
	if e.delivery.pipe != nil && !e.source.opts.transforms() {
		e.piped.Store(true)
		e.source.pace.pipe(1)
	}
	defer func() {
		e.delivery.before, e.delivery.pipe = nil, nil
		if e.piped.Swap(false) {
			e.source.pace.pipe(-1)
		}
	}()
	for {
		err := e.fill()
		if err == errDirect {
			if err = e.move(out); err == nil {
				continue
			}
			if out.err == nil {
				e.fail(err)
			}
		}
		if out.err == nil && err != nil {
			out.flush()
		}
		switch {
		case out.err != nil:
			e.fail(out.err) // what was gathered or moved halfway cannot be read again
			return out.written, out.err
		case err == io.EOF:
			return out.written, nil
		case err != nil:
			return out.written, err
		}
		e.deliver(out.write(e.rest))
	}
}

// deliver moves on by n bytes.
func (e *epoch) deliver(n int) {
	e.rest = e.rest[n:]
	e.places.advance(n)
	e.source.counts.bytes.Add(int64(n))
}

// fill sees to it that rest holds bytes, or returns what ends the stream.
func (e *epoch) fill() error {
	e.reading.Lock()
	defer e.reading.Unlock()
	e.begun.Do(e.begin)
	if e.err == nil && e.ctx.Err() != nil {
		e.end(context.Cause(e.ctx))
	}
	if e.err == nil && len(e.rest) == 0 {
		var err error
		e.rest, err = next(e.stream)
		if err == errDirect {
			return err
		}
		if err != nil {
			e.end(err)
		}
	}
	return e.err
}

// fail is end for who does not hold the stream.
func (e *epoch) fail(err error) {
	e.reading.Lock()
	defer e.reading.Unlock()
	e.end(err)
}

// end sets the error and stops what is still being fetched.
func (e *epoch) end(err error) {
	e.err, e.rest = err, nil
	e.cancel(err)
}

// Close ends the epoch, wherever it stands.
func (e *epoch) Close() error {
	e.closed.Do(func() {
		e.cancel(errClosed)
		e.begun.Do(func() { close(e.done) })
		<-e.done
		e.reading.Lock()
		defer e.reading.Unlock()
		e.blocks.leave()
		e.closeErr = closeStream(e.stream)
	})
	return e.closeErr
}

// gone is the error of reading after Close.
func (e *epoch) gone() error {
	e.reading.Lock()
	defer e.reading.Unlock()
	if e.err != nil {
		return e.err
	}
	return context.Cause(e.ctx)
}

// Locate implements channel.Locator. Where a byte of the stream is one of an
// object is known while objects are streamed as they are, for the last few
// thousand of them.
func (e *epoch) Locate(offset int64) (name string, at int64) { return e.places.locate(offset) }
