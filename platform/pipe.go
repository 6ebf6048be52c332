package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/algospec/algospec/channel"
)

// A pipe is the writing end of a Pipe-mode channel: a named pipe for each epoch, made ahead by
// one, that a Source's bytes go through (container contract, 2.2).
type pipe struct {
	path     string // without the epoch
	workshop string // where pipes are made ready
	watcher  *watcher
	name     string
	size     int64 // of an epoch
	source   channel.Source
	began    time.Time

	current, next *fifo // epochs epoch and epoch+1, nil where not made
	epoch         int

	reading   atomic.Int64 // the epoch that a reader has opened last
	bytes     atomic.Int64
	firstByte atomic.Int64 // nanoseconds after began
}

func (p *pipe) progress() ChannelProgress {
	return ChannelProgress{
		Name: p.name, Epoch: int(p.reading.Load()), EpochBytes: p.size,
		Bytes: p.bytes.Load(), FirstByte: time.Duration(p.firstByte.Load()),
	}
}

// make makes the pipe of epoch 0, before the algorithm starts.
func (p *pipe) make() (err error) {
	p.reading.Store(-1)
	p.current, err = makeFIFO(p.watcher, p.workshop, p.path, 0)
	return err
}

// serve streams epoch after epoch until ctx is done. Its error is the Source's; the pipe then
// stays open, without an end, until close.
func (p *pipe) serve(ctx context.Context) error {
	for {
		w, err := p.current.writer(ctx)
		if err != nil {
			return unlessDone(ctx, err)
		}
		p.reading.Store(int64(p.epoch))
		if p.next, err = makeFIFO(p.watcher, p.workshop, p.path, p.epoch+1); err != nil {
			return err
		}
		if err := p.stream(ctx, w); err != nil {
			return unlessDone(ctx, err)
		}
		p.current.close()
		p.current, p.next = p.next, nil
		p.epoch++
	}
}

// stream writes the current epoch to w. A reader that closes early ends it, which is no error.
func (p *pipe) stream(ctx context.Context, w *os.File) error {
	release := context.AfterFunc(ctx, func() { w.SetWriteDeadline(time.Unix(1, 0)) })
	defer release()
	r, err := p.source.Open(ctx, p.epoch)
	if err != nil {
		return fmt.Errorf("channel %s, epoch %d: %w", p.name, p.epoch, err)
	}
	defer r.Close()
	sink := &sink{pipe: p, file: w}
	if _, err := io.Copy(sink, r); sink.err == nil && err != nil {
		return fmt.Errorf("channel %s, epoch %d: %w", p.name, p.epoch, err)
	}
	if errors.Is(sink.err, syscall.EPIPE) {
		return nil
	}
	return sink.err
}

// unlessDone returns err, unless it comes from ctx being done.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// close removes the pipes and ends their readers' streams.
func (p *pipe) close() {
	for _, f := range []*fifo{p.current, p.next} {
		if f != nil {
			f.close()
		}
	}
	p.current, p.next = nil, nil
}

// A sink counts what the algorithm takes, and tells its own errors from the Source's.
type sink struct {
	pipe *pipe
	file *os.File
	err  error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	if n > 0 {
		if s.pipe.bytes.Add(int64(n)) == int64(n) {
			s.pipe.firstByte.Store(int64(max(1, time.Since(s.pipe.began))))
		}
	}
	s.err = err
	return n, err
}
