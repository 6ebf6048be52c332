package s3stream

import (
	"context"
	"io"
	"syscall"
)

// A delivery is the stream of what the fetches of an epoch bring, in order.
type delivery struct {
	ctx    context.Context
	queue  <-chan *fetch // closed after the last
	counts *counts
	before func() error    // called before waiting for S3; may be nil
	pipe   syscall.RawConn // where bytes can be moved to; nil where they cannot
	refuse func()          // called when it turns out that they can't come from S3
	moved  func(Item)      // called at the start of each item

	head  *fetch // being delivered; nil between items
	block []byte // of head, to be given back
	text  bool   // the text of head is still to be delivered
}

// item goes on to the next item.
func (d *delivery) item() (heading, error) {
	if err := skip(d); err != nil {
		return heading{}, err
	}
	f, err := d.nextFetch()
	if err != nil {
		return heading{}, err
	}
	if f.Object == nil && f.err != nil { // a unit that could not be read is no item
		return heading{}, f.err
	}
	d.head, d.text = f, len(f.Text) > 0
	d.moved(f.Item)
	if f.sum != nil {
		err = wait(d, f.sum.known)
	} else if f.Object != nil && f.Object.Size == unknown {
		err = wait(d, f.sized)
	}
	if err != nil {
		return heading{}, err // the size may still be written
	}
	return heading{f.Object, f.size}, nil
}

// chunk returns the next bytes of the item.
func (d *delivery) chunk() ([]byte, error) {
	d.giveBack()
	for d.head != nil {
		if d.text {
			d.text = false
			return d.head.Text, nil
		}
		if err := d.offer(); err != nil {
			return nil, err
		}
		block, ok, err := receive(d, d.head.filled)
		if err != nil {
			return nil, err
		}
		if ok {
			d.block = block
			d.head.sum.write(block)
			return block, nil
		}
		if err := d.leave(); err != nil {
			return nil, err
		}
	}
	return nil, io.EOF
}

// leave goes from a part that is through to the next one of its item.
func (d *delivery) leave() error {
	f := d.head
	f.over()
	if f.err != nil {
		return f.err
	}
	if f.last {
		d.head = nil
		if err := d.verify(f); err != nil {
			return err
		}
		d.counts.items.Add(1)
		return nil
	}
	following, err := d.nextFetch()
	d.head = following
	return err
}

// verify compares the bytes of an object with its checksum.
func (d *delivery) verify(f *fetch) error {
	if f.sum == nil {
		return nil
	}
	if err := f.sum.check(); err != nil {
		return &ObjectError{f.Object.Bucket, f.Object.Key, f.Object.Size, err}
	}
	return nil
}

func (d *delivery) nextFetch() (*fetch, error) {
	f, ok, err := receive(d, d.queue)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, io.EOF
	}
	return f, nil
}

func (d *delivery) giveBack() {
	if d.block != nil {
		d.head.give(d.block)
		d.block = nil
	}
}

// wait waits until a channel is closed.
func wait(d *delivery, closed <-chan struct{}) error {
	_, _, err := receive(d, closed)
	return err
}

// receive takes from a channel. When it has to wait, that is for S3.
func receive[T any](d *delivery, from <-chan T) (v T, ok bool, err error) {
	if d.ctx.Err() != nil {
		return v, false, context.Cause(d.ctx)
	}
	select {
	case v, ok = <-from:
		return v, ok, nil
	default:
	}
	if d.before != nil {
		if err := d.before(); err != nil {
			return v, false, err
		}
		if d.ctx.Err() != nil {
			return v, false, context.Cause(d.ctx)
		}
	}
	d.counts.waitedForS3.count(1)
	defer d.counts.waitedForS3.count(-1)
	select {
	case v, ok = <-from:
		return v, ok, nil
	case <-d.ctx.Done():
		return v, false, context.Cause(d.ctx)
	}
}
