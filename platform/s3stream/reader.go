package s3stream

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
)

// A reader is one epoch. A goroutine of its own starts the fetches, and the
// queue hands them over in the order of the stream.
type reader struct {
	source *Source
	ctx    context.Context
	cancel context.CancelCauseFunc
	blocks *blocks
	queue  chan *fetch   // closed after the last
	done   chan struct{} // closed when no goroutine is left

	head  *fetch // being delivered
	block []byte // being delivered; given back when rest is empty
	rest  []byte // of block
	err   error  // what Read returns from now on
}

var errClosed = fmt.Errorf("s3stream: %w", os.ErrClosed)

func newReader(ctx context.Context, s *Source) *reader {
	r := &reader{source: s, blocks: newBlocks(s.opts, &s.blocks), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	// A fetch in the queue holds a block at least: so it never blocks.
	r.queue = make(chan *fetch, r.blocks.limit)
	go r.fetchAll()
	return r
}

// fetchAll starts a fetch per part, in order, as memory and the limit of
// requests allow.
func (r *reader) fetchAll() {
	defer close(r.done)
	var fetches errgroup.Group
	defer fetches.Wait()
	opts := r.source.opts
	fetches.SetLimit(opts.Concurrency)
	for p := range plan(r.source.objects, opts.PartSize) {
		f, err := r.reserve(p)
		if err != nil {
			return // the reader sees the context
		}
		r.queue <- f
		fetches.Go(func() error {
			f.run(r.ctx, r.source.client, opts)
			return nil
		})
	}
	close(r.queue)
}

// reserve takes all blocks that a part needs.
func (r *reader) reserve(p part) (*fetch, error) {
	count := (p.to - p.from + int64(r.blocks.size) - 1) / int64(r.blocks.size)
	reserved := make([][]byte, count)
	for i := range reserved {
		block, err := r.blocks.take(r.ctx)
		if err != nil {
			return nil, err
		}
		reserved[i] = block
	}
	return newFetch(p, reserved), nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo. It writes a block at a time.
func (r *reader) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := r.fill(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := w.Write(r.rest)
		written += int64(n)
		r.rest = r.rest[n:]
		if err != nil {
			return written, err
		}
	}
}

// Close ends the epoch, wherever it stands.
func (r *reader) Close() error {
	r.cancel(errClosed)
	<-r.done
	return nil
}

// fill sees to it that rest holds bytes, or returns what ends the stream.
func (r *reader) fill() error {
	if r.err == nil && r.ctx.Err() != nil {
		r.err = context.Cause(r.ctx)
	}
	for r.err == nil && len(r.rest) == 0 {
		r.advance()
	}
	return r.err
}

// advance takes one step: it waits for the next block, or goes from one fetch
// to the next, or sets err.
func (r *reader) advance() {
	if r.block != nil {
		r.blocks.give(r.block)
		r.block = nil
	}
	if r.head == nil {
		select {
		case r.head = <-r.queue:
			if r.head == nil {
				r.end(io.EOF)
				r.blocks.release()
			}
		case <-r.ctx.Done():
			r.err = context.Cause(r.ctx)
		}
		return
	}
	select {
	case block, ok := <-r.head.filled:
		switch {
		case ok:
			r.block, r.rest = block, block
		case r.head.err != nil && r.ctx.Err() == nil:
			r.end(r.head.err)
		case r.head.err != nil:
			r.err = context.Cause(r.ctx)
		default:
			r.head = nil
		}
	case <-r.ctx.Done():
		r.err = context.Cause(r.ctx)
	}
}

// end sets the error and stops what is still being fetched.
func (r *reader) end(err error) {
	r.err = err
	r.cancel(err)
}
