package s3stream

import (
	"context"
	"sync"
	"sync/atomic"
)

// blocks is the memory of one epoch: as many blocks of the same size as the
// pace allows at the moment. The block that came back last is used first, as
// it may still be in the processor's cache.
type blocks struct {
	size   int
	window func() int    // how many may be taken
	spare  *sync.Pool    // shared with other epochs of the source
	held   *atomic.Int64 // bytes taken, over those epochs

	mu    sync.Mutex
	back  sync.Cond // a block came back, or the wait is over
	free  [][]byte
	taken int
	made  int
}

func newBlocks(s *Source) *blocks {
	b := &blocks{size: int(s.opts.blockSize()), window: s.pace.window, spare: &s.blocks, held: &s.counts.held}
	b.back.L = &b.mu
	return b
}

// number returns how many blocks so many bytes fill.
func (b *blocks) number(bytes int64) int64 { return (bytes + int64(b.size) - 1) / int64(b.size) }

// take returns so many blocks, waiting for others to come back where that is
// necessary. It blocks until wake is called after ctx is done.
func (b *blocks) take(ctx context.Context, n int) ([][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.taken+n > b.window() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b.back.Wait()
	}
	b.count(n)
	taken := make([][]byte, n)
	for i := range taken {
		taken[i] = b.one()
	}
	return taken, nil
}

// one returns a free block.
func (b *blocks) one() []byte {
	if last := len(b.free) - 1; last >= 0 {
		block := b.free[last]
		b.free = b.free[:last]
		return block
	}
	b.made++
	if block, ok := b.spare.Get().(*[]byte); ok {
		return *block
	}
	return make([]byte, b.size)
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

// release hands the free blocks on to later epochs, and forgets the others.
func (b *blocks) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, block := range b.free {
		b.spare.Put(&block)
	}
	b.free = nil
	b.count(-b.taken)
}
