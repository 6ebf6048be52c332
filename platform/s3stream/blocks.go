package s3stream

import (
	"context"
	"sync"
	"sync/atomic"
)

// blocks is the memory of one epoch: as many blocks of the same size as the
// pace allows at the moment. The block that came back last is used first, as
// it may still be in the processor's cache.
//
// Large blocks are not the garbage collector's: it would allow for as much
// garbage as there is memory in them.
type blocks struct {
	size   int
	window func() int    // how many may be taken
	share  func() int    // how many at a time; at most window, but that may change in between
	held   *atomic.Int64 // bytes taken, over all epochs of the source
	waited *stopwatch    // for blocks to come back, over those epochs

	mu    sync.Mutex
	back  sync.Cond // a block came back, or the wait is over
	free  [][]byte
	taken int
	made  [][]byte // all there are
	users int      // of the blocks: calls of Read and WriteTo, and until close the epoch itself
}

func newBlocks(s *Source) *blocks {
	b := &blocks{size: int(s.opts.blockSize()), window: s.pace.window, share: s.pace.share, held: &s.counts.held, waited: &s.counts.waitedForMemory, users: 1}
	b.back.L = &b.mu
	return b
}

// number returns how many blocks so many bytes fill.
func (b *blocks) number(bytes int64) int64 { return (bytes + int64(b.size) - 1) / int64(b.size) }

// take returns so many blocks, or the share of a request if that is less,
// waiting for others to come back where that is necessary. What the share is
// may change meanwhile. It blocks until wake is called after ctx is done.
func (b *blocks) take(ctx context.Context, most int64) ([][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := int(min(most, int64(b.share())))
	if b.taken+n > b.window() {
		b.waited.count(1)
		defer b.waited.count(-1)
	}
	for b.taken+n > b.window() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b.back.Wait()
		n = int(min(most, int64(b.share())))
	}
	b.count(n)
	taken := make([][]byte, n)
	for i := range taken {
		taken[i] = b.one()
	}
	return taken, nil
}

// some returns up to n blocks, as many as are to be had without waiting.
func (b *blocks) some(n int) [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = max(0, min(n, b.window()-b.taken))
	b.count(n)
	taken := make([][]byte, n)
	for i := range taken {
		taken[i] = b.one()
	}
	return taken
}

// one returns a free block.
func (b *blocks) one() []byte {
	if last := len(b.free) - 1; last >= 0 {
		block := b.free[last]
		b.free = b.free[:last]
		return block
	}
	block := allocate(b.size)
	b.made = append(b.made, block)
	return block
}

// give takes a block back, of which a slice is enough.
func (b *blocks) give(block []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count(-1)
	b.free = append(b.free, block[:b.size])
	b.back.Signal()
}

// wake has take look again.
func (b *blocks) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.back.Broadcast()
}

// count notes that n more blocks are taken. The caller holds the lock.
func (b *blocks) count(n int) {
	b.taken += n
	b.held.Add(int64(n) * int64(b.size))
}

// use says that blocks are used, until leave is called as often. It returns
// false when they are gone.
func (b *blocks) use() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == 0 {
		return false
	}
	b.users++
	return true
}

// leave frees all blocks when nobody uses them any more, given back or not.
func (b *blocks) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users--; b.users > 0 {
		return
	}
	for _, block := range b.made {
		deallocate(block)
	}
	b.made, b.free = nil, nil
	b.count(-b.taken)
}
