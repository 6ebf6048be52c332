package channel

import (
	"context"
	"io"
	"os"
	"sync"
)

// ReadAhead returns a Source that reads each epoch of src in a goroutine of its own, up to so many
// bytes ahead of the reader; 0 or less means 1 MiB. The memory is taken when the epoch opens. The
// bytes and their order are those of src, and an error comes after the bytes before it. Close
// waits for the goroutine, which a done context ends too.
//
// It helps where src is slow in bursts (a network, Gzip) and the reader computes between reads.
func ReadAhead(src Source, bytes int) Source {
	if bytes <= 0 {
		bytes = 1 << 20
	}
	return readAhead{src, bytes}
}

type readAhead struct {
	src   Source
	bytes int
}

func (s readAhead) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	src, err := s.src.Open(ctx, epoch)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	r := &aheadReader{ctx: ctx, cancel: cancel, src: src, ring: make([]byte, s.bytes), done: make(chan struct{})}
	r.moved.L = &r.mu
	r.release = context.AfterFunc(ctx, r.wake)
	go r.fill()
	return r, nil
}

// maxRead is how much of the ring one read may fill, so that the reader need not wait for all.
const maxRead = 256 << 10

// An aheadReader is a ring that one goroutine fills and one empties. Each touches its own part of
// the ring without the lock.
type aheadReader struct {
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	release func() bool
	src     io.ReadCloser
	ring    []byte
	done    chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	moved sync.Cond // of the fields below, or the context is done
	put   int64     // bytes read from src
	taken int64     // bytes handed on
	err   error     // of src, after put bytes
}

func (r *aheadReader) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved.Broadcast()
}

// fill reads src to its end or until the context is done.
func (r *aheadReader) fill() {
	defer close(r.done)
	for idle := 0; ; {
		room := r.room()
		if room == nil {
			return
		}
		n, err := r.src.Read(room)
		if idle++; n > 0 {
			idle = 0
		} else if idle == 100 && err == nil {
			err = io.ErrNoProgress
		}
		r.mu.Lock()
		r.put += int64(n)
		r.err = err
		r.moved.Signal()
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// room waits for a free part of the ring. It is nil once the context is done.
func (r *aheadReader) room() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := int64(len(r.ring))
	for r.put-r.taken == size && r.ctx.Err() == nil {
		r.moved.Wait()
	}
	if r.ctx.Err() != nil {
		return nil
	}
	begin := r.put % size
	return r.ring[begin:min(begin+size-(r.put-r.taken), begin+maxRead, size)]
}

func (r *aheadReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	full, err := r.full()
	if err != nil {
		return 0, err
	}
	n := copy(p, full)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken += int64(n)
	r.moved.Signal()
	return n, nil
}

// full waits for a part of the ring that holds bytes, or returns why there are no more.
func (r *aheadReader) full() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.put == r.taken && r.err == nil && r.ctx.Err() == nil {
		r.moved.Wait()
	}
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	if r.put == r.taken {
		return nil, r.err
	}
	size := int64(len(r.ring))
	begin := r.taken % size
	return r.ring[begin:min(begin+r.put-r.taken, size)], nil
}

// Locate names the part of src that a byte comes from.
func (r *aheadReader) Locate(offset int64) (name string, at int64) { return locate(r.src, offset) }

func (r *aheadReader) Close() error {
	r.release()
	r.cancel(os.ErrClosed)
	r.wake()
	<-r.done
	return r.src.Close()
}
