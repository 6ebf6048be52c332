package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/algospec/algospec/channel"
)

// A pipe is the writing end of a Pipe-mode channel: a named pipe for each epoch, made as the
// LookAhead says, that a Source's bytes go through (container contract, 2.2). One epoch gets data at
// a time, and none before its turn.
type pipe struct {
	path      string // without the epoch
	workshop  string // where pipes are made ready
	watcher   *watcher
	host      string
	name      string
	size      int64 // of an epoch
	source    channel.Source
	began     time.Time
	lookAhead LookAhead
	stall     time.Duration
	logger    *slog.Logger

	mu            sync.Mutex // held by serve where it changes these, and by others
	current, next *fifo      // epochs epoch and epoch+1, nil where not made
	epoch         int
	problem       string // found by diagnose

	clock     stopwatch
	reading   atomic.Int64 // the epoch that a reader has opened last and whose turn has come
	bytes     atomic.Int64
	firstByte atomic.Int64 // nanoseconds after began
	opens     atomic.Int64
	abandoned atomic.Int64
}

func (p *pipe) progress() ChannelProgress {
	times := p.clock.times()
	p.mu.Lock()
	defer p.mu.Unlock()
	return ChannelProgress{
		Host: p.host, Name: p.name, Epoch: int(p.reading.Load()), EpochBytes: p.size,
		Bytes: p.bytes.Load(), FirstByte: time.Duration(p.firstByte.Load()),
		Opens: int(p.opens.Load()), Abandoned: int(p.abandoned.Load()), Problem: p.problem,
		Unopened: times[unopened], Starved: times[starved], Blocked: times[blocked],
	}
}

// make makes the pipe of epoch 0, before the algorithm starts.
func (p *pipe) make() error {
	p.clock.enter(unopened)
	first, err := makeFIFO(p.watcher, p.workshop, p.path, 0, &p.opens)
	if err != nil {
		return err
	}
	p.set(first, nil, 0)
	return p.at(context.Background(), atStart)
}

// at makes the pipe of the next epoch if this is the moment for it.
func (p *pipe) at(ctx context.Context, m moment) error {
	if m != p.lookAhead.at {
		return nil
	}
	if err := p.lookAhead.wait(ctx); err != nil {
		return err
	}
	next, err := makeFIFO(p.watcher, p.workshop, p.path, p.epoch+1, &p.opens)
	if err == nil {
		p.set(p.current, next, p.epoch)
	}
	return err
}

func (p *pipe) set(current, next *fifo, epoch int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.next, p.epoch = current, next, epoch
}

// serve streams epoch after epoch until ctx is done. Its error is the Source's; the pipe then
// stays open, without an end, until close.
func (p *pipe) serve(ctx context.Context) error {
	defer p.clock.enter(ended)
	for {
		if err := p.serveEpoch(ctx); err != nil {
			return unlessDone(ctx, err)
		}
	}
}

// serveEpoch waits for the reader of the current epoch, streams it, and goes to the next.
func (p *pipe) serveEpoch(ctx context.Context) error {
	w, err := p.current.writer(ctx)
	if err != nil {
		return err
	}
	p.reading.Store(int64(p.epoch))
	if err := p.at(ctx, atOpen); err != nil {
		return err
	}
	p.clock.enter(starved)
	err = p.stream(ctx, w)
	if p.current.opening.again.Load() {
		p.logger.WarnContext(ctx, fmt.Sprintf("channel %s: epoch %d was opened more than once: "+
			"what one reader gets is lost to the others (container contract 2.1)", p.name, p.epoch))
	}
	if err != nil {
		return err
	}
	p.current.close()
	p.clock.enter(unopened)
	if err := p.at(ctx, atEnd); err != nil {
		return err
	}
	p.set(p.next, nil, p.epoch+1)
	return p.at(ctx, atStart)
}

// errAbandoned is why the stream of an epoch whose reader has left is cancelled.
var errAbandoned = errors.New("the reader has closed the pipe")

// stream writes the current epoch to w. A reader that closes early ends it, which is no error, even
// where the Source has one to tell.
func (p *pipe) stream(ctx context.Context, w *os.File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { w.SetWriteDeadline(time.Unix(1, 0)) })()
	defer p.current.whenAbandoned(func() { cancel(errAbandoned) })()

	err := errAbandoned
	if !p.current.abandoned() { // or else nothing need be fetched
		err = p.copy(ctx, w)
	}
	if p.current.abandoned() {
		p.bytes.Add(-int64(p.current.unread()))
	}
	if err == nil {
		return nil
	}
	if p.current.abandoned() || errors.Is(err, syscall.EPIPE) {
		p.abandoned.Add(1)
		return nil
	}
	return fmt.Errorf("channel %s, epoch %d: %w", p.name, p.epoch, err)
}

func (p *pipe) copy(ctx context.Context, w *os.File) error {
	r, err := p.source.Open(ctx, p.epoch)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(&sink{pipe: p, file: w}, r)
	return err
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
	p.set(nil, nil, p.epoch)
}

// A sink counts what the algorithm takes, and how long that takes.
type sink struct {
	pipe *pipe
	file *os.File
}

func (s *sink) Write(b []byte) (int, error) {
	s.pipe.clock.enter(blocked)
	defer s.pipe.clock.enter(starved)
	n, err := s.file.Write(b)
	s.count(int64(n))
	return n, err
}

// SyscallConn, Blocked and Moved make the sink an s3stream.PipeWriter.
func (s *sink) SyscallConn() (syscall.RawConn, error) { return s.file.SyscallConn() }

func (s *sink) Blocked() { s.pipe.clock.enter(blocked) }

func (s *sink) Moved(n int64) {
	s.pipe.clock.enter(starved)
	s.count(n)
}

func (s *sink) count(n int64) {
	if n > 0 && s.pipe.bytes.Add(n) == n {
		s.pipe.firstByte.Store(int64(max(1, time.Since(s.pipe.began))))
	}
}
