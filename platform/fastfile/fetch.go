package fastfile

import (
	"context"
	"io"

	"golang.org/x/sync/semaphore"

	"github.com/algospec/algospec/platform/s3stream"
)

// A fetch is one request: for a run of blocks of one file.
type fetch struct {
	fs     *FS
	blocks []*block
	ctx    context.Context
	cancel context.CancelFunc
}

// fetch starts a fetch of a run that was reserved. It holds one of slots while
// it runs, which it has if it is held.
func (f *FS) fetch(run []*block, slots *semaphore.Weighted, held bool) *fetch {
	ctx, cancel := context.WithCancel(f.ctx)
	x := &fetch{f, run, ctx, cancel}
	go func() {
		defer f.cache.fetching.Done()
		defer cancel()
		if !held {
			if err := slots.Acquire(ctx, 1); err != nil {
				f.cache.fail(run, context.Cause(ctx))
				return
			}
		}
		defer slots.Release(1)
		x.run()
	}()
	return x
}

// run reads the blocks one after another and hands each on as it fills.
func (x *fetch) run() {
	f, first, last := x.fs, x.blocks[0], x.blocks[len(x.blocks)-1]
	from := first.id.index * f.opts.Block
	to := last.id.index*f.opts.Block + int64(last.size)
	f.counts.requests.Add(1)
	body := s3stream.OpenRange(x.ctx, f.client, *first.id.file.object, from, to, f.opts.Stream)
	defer body.Close()
	for i, b := range x.blocks {
		data, err := f.cache.take(x.ctx, b.size)
		if err != nil {
			f.cache.fail(x.blocks[i:], err)
			return
		}
		n, err := io.ReadFull(body, data)
		f.counts.bytesFetched.Add(int64(n))
		if err != nil {
			f.cache.give(b.size)
			f.cache.fail(x.blocks[i:], err)
			return
		}
		if !f.cache.fill(b, data) {
			f.cache.give(b.size)
			return
		}
	}
}

// abandon ends the fetch if no reader waits for it.
func (x *fetch) abandon() {
	if x.fs.cache.forget(x.blocks) {
		x.cancel()
	}
}
