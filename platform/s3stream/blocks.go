package s3stream

import (
	"context"
	"sync"
)

// blocks is the memory of one reader: never more than limit blocks of the same
// size, made when they are first needed. One goroutine takes, any may give back.
type blocks struct {
	size, limit int
	made        int // touched by the taker only
	free        chan []byte
	spare       *sync.Pool // shared with other readers of the source
}

func newBlocks(opts Options, spare *sync.Pool) *blocks {
	limit := opts.blockCount()
	return &blocks{size: int(opts.blockSize()), limit: limit, free: make(chan []byte, limit), spare: spare}
}

// take returns a block, waiting for one to come back if all are in use.
func (b *blocks) take(ctx context.Context) ([]byte, error) {
	select {
	case block := <-b.free:
		return block, nil
	default:
	}
	if b.made < b.limit {
		b.made++
		if block, ok := b.spare.Get().(*[]byte); ok {
			return *block, nil
		}
		return make([]byte, b.size), nil
	}
	select {
	case block := <-b.free:
		return block, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// give takes a block back, of which a slice is enough. It does not block.
func (b *blocks) give(block []byte) { b.free <- block[:b.size] }

// release hands the free blocks on to later readers.
func (b *blocks) release() {
	for {
		select {
		case block := <-b.free:
			b.spare.Put(&block)
		default:
			return
		}
	}
}
