package fastfile

import (
	"context"
	"io"
	"sync"
	"time"
)

// A reader is one open file. Its methods may be called from several goroutines.
type reader struct {
	fs   *FS
	file *node

	mu      sync.Mutex
	window  window
	held    int64    // of the file system's budget for reading ahead
	fetches []*fetch // ahead
	closed  bool
}

// maxStep is how much of a long read is asked for at once.
const maxStep = 1 << 20

func (f *FS) open(file *node) *reader {
	f.counts.opens.Add(1)
	return &reader{fs: f, file: file}
}

// readAt reads as io.ReaderAt does, until ctx is done.
func (r *reader) readAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	r.fs.counts.reads.Add(1)
	defer func() { r.fs.counts.bytesRead.Add(int64(n)) }()
	step := int(min(maxStep, max(r.fs.opts.Block, r.fs.opts.Cache/4)))
	for n < len(p) {
		length := min(int64(len(p)-n), int64(step), r.file.size()-off)
		if length <= 0 {
			return n, io.EOF
		}
		r.ask(off, length)
		m, err := r.copy(ctx, p[n:n+int(length)], off)
		n, off = n+m, off+int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// copy reads block by block. It holds no block while it waits for another.
func (r *reader) copy(ctx context.Context, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		b, err := r.pin(ctx, off/r.fs.opts.Block)
		if err != nil {
			return n, err
		}
		m := copy(p[n:], b.data[off%r.fs.opts.Block:])
		n, off = n+m, off+int64(m)
		r.unpin(b, off)
	}
	return n, nil
}

// pin returns a block of the file when its bytes are there.
func (r *reader) pin(ctx context.Context, index int64) (*block, error) {
	f := r.fs
	b, reserved := f.cache.pin(blockID{r.file, index})
	if b == nil {
		return nil, errClosed
	}
	if reserved {
		f.fetch([]*block{b}, f.asked, false)
	}
	if err := f.await(ctx, b); err != nil {
		f.cache.unpin(b, false)
		return nil, err
	}
	return b, nil
}

// unpin lets go of a block that was read up to a byte of the file.
func (r *reader) unpin(b *block, to int64) {
	r.fs.cache.unpin(b, to == b.id.index*r.fs.opts.Block+int64(b.size))
}

// await waits for a block that the caller has pinned.
func (f *FS) await(ctx context.Context, b *block) error {
	if b.ready() {
		f.counts.hits.Add(1)
	} else {
		f.counts.misses.Add(1)
		start := time.Now()
		defer func() { f.counts.waited.Add(int64(time.Since(start))) }()
		select {
		case <-b.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.ctx.Done():
			return context.Cause(f.ctx)
		}
	}
	if b.err != nil {
		f.failed(b.err)
	}
	return b.err
}

func (r *reader) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// close ends reading ahead.
func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.settle()
}
