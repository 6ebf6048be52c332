package channel

import (
	"errors"
	"io"
	"sync"
)

// Broadcast gives all bytes of src to each of n goroutines: it runs consume(0, r) to
// consume(n-1, r), each with a reader of its own, at the same time and returns when all have
// returned. A reader is used by its consumer only, and not after it has returned.
//
// Four blocks of 256 KiB are held: who reads fast waits for the slowest. A consumer that returns
// nil early no longer counts; when the last has returned, the rest of src is not read. An error of
// src comes to all after the bytes before it, one that a consumer returns comes to the others at
// once; Broadcast returns it, the first there was. A consumer that waits for src is not
// interrupted: cancel the context that src reads under for that.
func Broadcast(src io.Reader, n int, consume func(consumer int, r io.Reader) error) error {
	b := &broadcast{src: src, at: make([]int64, n)}
	b.moved.L = &b.mu
	return together(n, b.fail, func(i int) error {
		defer b.leave(i)
		return consume(i, &broadcastReader{b: b, consumer: i})
	})
}

const (
	broadcastBlocks = 4
	broadcastBlock  = 256 << 10
)

// A broadcast is the blocks that some consumer has still to read. A consumer that needs the next
// block reads it from src for all.
type broadcast struct {
	src io.Reader

	mu      sync.Mutex
	moved   sync.Cond // of what follows
	blocks  [broadcastBlocks][]byte
	full    [broadcastBlocks][]byte // block i of the stream is full[i%broadcastBlocks]
	end     int64                   // blocks read
	reading bool                    // a consumer reads block end
	at      []int64                 // the block that each consumer has in hand or wants; gone when it has left
	err     error                   // of src, after block end-1
	failed  error                   // of a consumer
}

const gone = -1

// slowest returns the first block that is still wanted.
func (b *broadcast) slowest() int64 {
	first := b.end
	for _, at := range b.at {
		if at != gone {
			first = min(first, at)
		}
	}
	return first
}

func (b *broadcast) leave(consumer int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at[consumer] = gone
	b.moved.Broadcast()
}

func (b *broadcast) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil && errors.Is(err, b.err) {
		return // what the source says, which the others will hear in their turn
	}
	b.failed = err
	b.moved.Broadcast()
}

// block waits for the block that the consumer wants.
func (b *broadcast) block(consumer int) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch want := b.at[consumer]; {
		case b.failed != nil:
			return nil, b.failed
		case want < b.end:
			return b.full[want%broadcastBlocks], nil
		case b.err != nil:
			return nil, b.err
		case !b.reading && b.end-b.slowest() < broadcastBlocks:
			b.read()
		default:
			b.moved.Wait()
		}
	}
}

// read reads one block, and lets go of the lock meanwhile.
func (b *broadcast) read() {
	i := b.end % broadcastBlocks
	if b.blocks[i] == nil {
		b.blocks[i] = make([]byte, broadcastBlock)
	}
	b.reading = true
	b.mu.Unlock()
	n, err := b.src.Read(b.blocks[i])
	b.mu.Lock()
	b.reading = false
	if n > 0 {
		b.full[i] = b.blocks[i][:n]
		b.end++
	}
	b.err = err
	b.moved.Broadcast()
}

// done tells that the consumer has read its block.
func (b *broadcast) done(consumer int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at[consumer]++
	b.moved.Broadcast()
}

type broadcastReader struct {
	b        *broadcast
	consumer int
	rest     []byte // of the block in hand; nil when there is none
}

func (r *broadcastReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.rest == nil {
		block, err := r.b.block(r.consumer)
		if err != nil {
			return 0, err
		}
		r.rest = block
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) == 0 {
		r.rest = nil
		r.b.done(r.consumer)
	}
	return n, nil
}
