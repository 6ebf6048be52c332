package fastfile

import (
	"container/list"
	"context"
	"sync"
)

// A cache holds blocks of all files within a bound in bytes, which counts the
// blocks that are being filled and those that readers hold. It makes room by
// dropping idle blocks: first those that were read to their end, which the
// kernel or the reader has, then the others, each in the order of their last
// use.
//
// It never waits for memory while a reader waits for it with memory in its
// hands, except for views, which may hold half of it.
type cache struct {
	limit, blockSize int64
	keep             int64 // bytes of spent blocks held at most, even if there is room

	mu         sync.Mutex
	freed      sync.Cond // a block has become idle or was dropped
	used, most int64
	blocks     map[blockID]*block
	spent      list.List // idle blocks, the next to go in front
	fresh      list.List
	closed     bool
	fetching   sync.WaitGroup // one for each run that was reserved
}

func newCache(limit, blockSize int64) *cache {
	c := &cache{limit: limit, blockSize: blockSize, keep: limit, blocks: map[blockID]*block{}}
	c.freed.L = &c.mu
	return c
}

func (c *cache) held() (used, most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.most
}

// reserve enters the first run of blocks [from, to) of a file that the cache
// does not have. Whoever called owes it a fill or a fail for each, and then a
// fetching.Done. Nil means that there is nothing to fetch, or no more fetching.
func (c *cache) reserve(file *node, from, to int64) []*block {
	c.mu.Lock()
	defer c.mu.Unlock()
	var run []*block
	for i := from; i < to && !c.closed; i++ {
		id := blockID{file, i}
		switch _, there := c.blocks[id]; {
		case !there:
			b := c.enter(id)
			run = append(run, b)
		case run != nil:
			to = i
		}
	}
	if run != nil {
		c.fetching.Add(1)
	}
	return run
}

func (c *cache) enter(id blockID) *block {
	size := min(c.blockSize, id.file.size()-id.index*c.blockSize)
	b := &block{id: id, size: int(size), done: make(chan struct{})}
	c.blocks[id] = b
	return b
}

// pin returns a block that stays until it is unpinned. If reserved is true it
// was not there, and whoever called owes what reserve asks for. Nil means that
// the cache is closed.
func (c *cache) pin(id blockID) (b *block, reserved bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, there := c.blocks[id]
	switch {
	case c.closed:
		return nil, false
	case !there:
		b, reserved = c.enter(id), true
		c.fetching.Add(1)
	case b.list != nil:
		b.list.Remove(b.place)
		b.list = nil
	}
	b.pins++
	return b, reserved
}

// unpin lets go of a block. Spent says that it was read to its end.
func (c *cache) unpin(b *block, spent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.pins--; b.pins == 0 && b.data != nil {
		c.rest(b, spent)
	}
}

// rest puts a block among those that may be dropped.
func (c *cache) rest(b *block, spent bool) {
	b.list = &c.fresh
	if spent {
		b.list = &c.spent
	}
	b.place = b.list.PushBack(b)
	c.freed.Broadcast()
}

// take returns memory for a block, waiting for it if need be.
func (c *cache) take(ctx context.Context, size int) ([]byte, error) {
	memory, err := c.room(ctx, size)
	if memory == nil && err == nil {
		memory = make([]byte, size)
	}
	return memory, err
}

// room counts size bytes as used. It returns the memory of a block that had to
// go, if that suits.
func (c *cache) room(ctx context.Context, size int) (memory []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reuse := int64(c.spent.Len())*c.blockSize > c.keep
	for reuse || c.used+int64(size) > c.limit {
		reuse = false
		if dropped := c.drop(); dropped != nil {
			memory = dropped
			continue
		}
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
	}
	c.used += int64(size)
	c.most = max(c.most, c.used)
	if len(memory) != size {
		return nil, nil
	}
	return memory, nil
}

// wait waits until some block is freed.
func (c *cache) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.freed.Broadcast()
	})
	defer stop()
	c.freed.Wait()
	return nil
}

// drop removes the idle block that is the first to go and returns its memory.
// Nil means that there is none.
func (c *cache) drop() []byte {
	for _, idle := range []*list.List{&c.spent, &c.fresh} {
		if first := idle.Front(); first != nil {
			b := idle.Remove(first).(*block)
			b.list = nil
			delete(c.blocks, b.id)
			c.used -= int64(b.size)
			return b.data
		}
	}
	return nil
}

// give takes back memory that did not become a block.
func (c *cache) give(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= int64(size)
	c.freed.Broadcast()
}

// fill makes data, which was taken, the bytes of a block. It returns false if
// nobody wants the block any more; the memory is still the caller's then.
func (c *cache) fill(b *block, data []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocks[b.id] != b {
		return false
	}
	b.data = data
	close(b.done)
	if b.pins == 0 {
		c.rest(b, false)
	}
	return true
}

// fail makes readers of the blocks see err. They are fetched again if they are
// asked for again.
func (c *cache) fail(blocks []*block, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range blocks {
		if c.blocks[b.id] == b {
			delete(c.blocks, b.id)
			b.err = err
			close(b.done)
		}
	}
}

// forget drops those of the blocks that have no bytes yet, unless a reader
// waits for one of them.
func (c *cache) forget(blocks []*block) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range blocks {
		if b.data == nil && b.pins > 0 {
			return false
		}
	}
	for _, b := range blocks {
		if b.data == nil && c.blocks[b.id] == b {
			delete(c.blocks, b.id)
		}
	}
	return true
}

// close has nothing more be fetched and waits for what is.
func (c *cache) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.fetching.Wait()
}
