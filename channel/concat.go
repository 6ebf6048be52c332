package channel

import (
	"context"
	"io"
)

// Concat is the Source whose epoch n is epoch n of each of its Sources, one after the other. Each
// is opened when the one before it is at its end, so an epoch that is closed early leaves some
// unopened: pipes, of which each epoch must be opened, are no parts of a Concat.
type Concat struct {
	Sources []Source
	Lines   bool // the parts are text: see Files
}

// Open begins a pass over the Sources. What is wrong with one shows when its bytes are due.
func (c Concat) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &joined{ctx: ctx, parts: len(c.Sources), lines: c.Lines, last: '\n', open: func(i int) (io.ReadCloser, any, error) {
		r, err := c.Sources[i].Open(ctx, epoch)
		return r, r, err
	}}, nil
}

// A joined reader reads parts one after the other.
type joined struct {
	ctx   context.Context
	parts int
	open  func(i int) (r io.ReadCloser, where any, err error) // where may be a Locator
	lines bool                                                // repair newlines between parts

	next  int           // part to open
	part  io.ReadCloser // being read, or nil
	fresh bool          // no byte of part has been read
	last  byte          // byte read last
	held  bool          // last has been read but not returned
	given int64         // bytes returned
	where any           // of part, which has no span until its first byte
	spans
}

func (r *joined) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := r.read(p)
	r.given += int64(n)
	return n, err
}

func (r *joined) read(p []byte) (int, error) {
	for {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		if r.held {
			r.held = false
			p[0] = r.last
			return 1, nil
		}
		if r.part == nil {
			if err := r.advance(); err != nil {
				return 0, err
			}
		}
		n, err := r.part.Read(p)
		if n > 0 {
			n = r.got(p, n)
		}
		if err == io.EOF {
			if err = r.Close(); n == 0 && err == nil {
				continue
			}
		}
		return n, err
	}
}

// advance opens the next part.
func (r *joined) advance() error {
	if r.next == r.parts {
		return io.EOF
	}
	part, where, err := r.open(r.next)
	if err != nil {
		return err
	}
	r.part, r.where, r.fresh = part, where, true
	r.next++
	return nil
}

// got takes note of p[:n], which has come from the part, and returns how many bytes of p to hand
// on: before a part's first byte there may be a newline to put in.
func (r *joined) got(p []byte, n int) int {
	before := r.last
	r.last = p[n-1]
	if !r.fresh {
		return n
	}
	r.fresh = false
	if !r.lines || before == '\n' {
		r.add(r.given, r.where)
		return n
	}
	r.add(r.given+1, r.where)
	r.held = n == len(p)
	copy(p[1:], p[:n])
	p[0] = '\n'
	return min(n+1, len(p))
}

// Close closes the part that is open.
func (r *joined) Close() error {
	if r.part == nil {
		return nil
	}
	err := r.part.Close()
	r.part = nil
	return err
}
