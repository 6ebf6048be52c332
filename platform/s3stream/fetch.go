package s3stream

import (
	"context"
	"errors"
	"io"
)

// A fetch is one part on its way from S3 to the reader, which takes fetches in
// order. Its blocks are reserved before it begins, so the reader never waits
// for memory. Those of a part of unknown size that it does not need it hands on.
//
// If the blocks do not suffice, it slides: the reader gives each block back to
// it and not to the other fetches, and meanwhile the answer waits.
type fetch struct {
	part
	body   *body
	blocks *blocks
	free   chan []byte // to be filled
	filled chan []byte // to the reader, in order; closed at the end
	err    error       // why the part is not whole; to be read when filled is closed

	sized  chan struct{} // closed when size is known, or never will be
	size   int64         // of the object
	slides bool
	direct *direct // nil where the answer is read at once
}

// newFetch returns a fetch of p into the reserved blocks; without those it is over.
func newFetch(p part, body *body, blocks *blocks, reserved [][]byte) *fetch {
	room := len(reserved)
	if p.to != unknown {
		room = max(room, int(blocks.number(p.to-p.from))) // for more of them
	}
	f := &fetch{part: p, body: body, blocks: blocks, filled: make(chan []byte, room), sized: make(chan struct{}), size: unknown}
	if p.Object != nil {
		f.size = p.Object.Size
	} else {
		f.size = int64(len(p.Text))
	}
	if len(reserved) == 0 {
		close(f.filled)
		return f
	}
	f.free = make(chan []byte, room)
	for _, block := range reserved {
		f.free <- block
	}
	body.learned = f.learned
	f.slides = p.to != unknown && blocks.number(p.to-p.from) > int64(len(reserved))
	return f
}

// widen gives a fetch more blocks before it fills the first one. What it has no use for goes back.
func (f *fetch) widen(more [][]byte) {
	for _, block := range more {
		if len(f.free) < cap(f.free) {
			f.free <- block
		} else {
			f.blocks.give(block)
		}
	}
	f.slides = len(f.free) < cap(f.free)
}

// learned is told the size of an object that was not listed, when no block has
// been filled yet. Run has taken the first, unless the fetch is direct.
func (f *fetch) learned(size int64) {
	f.size = size
	more := max(0, f.blocks.number(size)-int64(cap(f.free)-len(f.free)))
	for int64(len(f.free)) > more {
		f.blocks.give(<-f.free)
	}
	f.slides = more > int64(len(f.free))
	close(f.sized)
}

// run fetches the part.
func (f *fetch) run(ctx context.Context) {
	defer close(f.filled)
	defer func() {
		if f.size == unknown { // and will be for ever
			close(f.sized)
		}
	}()
	if f.direct != nil {
		v, err := f.direct.await(ctx, f.body)
		if v == moved {
			return // the body is the reader's, who closes it
		}
		f.err = err
	}
	defer f.body.Close()
	var held [][]byte
	for f.err == nil && f.body.at != f.body.to {
		block, err := f.take(ctx)
		if err != nil {
			f.err = err
			return
		}
		n, err := fill(f.body, block)
		if n > 0 {
			held = append(held, block[:n])
		} else {
			f.free <- block
		}
		switch {
		case errors.Is(err, ErrChecksum) && f.holds():
			for _, block := range held {
				f.free <- block[:f.blocks.size]
			}
			held = nil
			f.body.again(err)
			f.err = f.body.err
			continue
		case err != io.EOF:
			f.err = err
		}
		if !f.holds() || f.body.at == f.body.to {
			held = f.hand(held)
		}
	}
	f.hand(held)
}

// holds says whether the part is held back until it is verified, so that it can
// be asked for once more: where there is a checksum, and blocks for all of it.
func (f *fetch) holds() bool { return f.body.sum != nil && !f.slides }

// hand gives filled blocks to the reader.
func (f *fetch) hand(held [][]byte) [][]byte {
	for _, block := range held {
		f.filled <- block
	}
	return held[:0]
}

// take returns the next block to fill. Only one that slides may have to wait.
func (f *fetch) take(ctx context.Context) ([]byte, error) {
	select {
	case block := <-f.free:
		return block, nil
	default:
	}
	f.body.rest()
	select {
	case block := <-f.free:
		return block, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// give takes a delivered block back. Only the reader calls it.
func (f *fetch) give(block []byte) {
	if f.slides {
		f.free <- block[:f.blocks.size]
	} else {
		f.blocks.give(block)
	}
}

// over hands the blocks that are left to other fetches, when filled is closed.
func (f *fetch) over() {
	for len(f.free) > 0 {
		f.blocks.give(<-f.free)
	}
}

// fill reads until the block is full or the body ends.
func fill(r io.Reader, block []byte) (n int, err error) {
	for n < len(block) && err == nil {
		var m int
		m, err = r.Read(block[n:])
		n += m
	}
	return n, err
}
