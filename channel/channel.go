// Package channel reads the input channels of a training job.
//
// A [Source] is where a channel's bytes come from: the named pipes of Pipe mode ([FIFO]), a
// directory ([Files]), memory ([Memory]) or S3 (package platform/s3stream). A [Channel] gives a
// Source its name and counts its epochs; an [Epoch] is one pass over the channel's data, an
// [io.Reader] that ends with [io.EOF]. An algorithm cannot tell which Source it reads:
//
//	for epoch, err := range train.Epochs(ctx, 3) {
//		if err != nil {
//			return err
//		}
//		n, err := io.Copy(hash, epoch)
//		…
//	}
//
// Opening an epoch is what advances the platform, closing it early is cheap and allowed, and the
// epochs of one channel follow one another: the next one opens when the last is closed. An epoch
// of no bytes is legal; it is what a host without a shard sees. See the container contract,
// sections 2.1 to 2.3 and 3.4.
//
// Sources are put together from others: [Gzip] decompresses, [ReadAhead] reads in a goroutine of
// its own, [Concat] joins. In Pipe mode nothing separates the objects of a stream, and where one
// ends is not known: text needs a newline at the end of each object there, which [Files] and
// Concat can put in.
//
// What follows works on the records that a reader of the channel's format yields: [Shuffle] mixes
// them with a bounded buffer, and [Split] shares them out among goroutines, since only one may
// read a pipe. [Broadcast] gives several goroutines all the bytes.
package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
)

// A Source opens the passes over one channel's data.
type Source interface {
	// Open begins pass number epoch, from 0. Reads of the result return context.Cause(ctx)
	// once ctx is done, also while they block. Close may come at any place of the stream, though
	// not while a Read runs, and does not drain. The result may be a Locator.
	Open(ctx context.Context, epoch int) (io.ReadCloser, error)
}

// Config is a channel's entry in inputdataconfig.json (container contract, 1.3.2).
type Config struct {
	TrainingInputMode  string `json:"TrainingInputMode"`            // File, Pipe or FastFile, in any case
	S3DistributionType string `json:"S3DistributionType,omitempty"` // FullyReplicated or ShardedByS3Key
	RecordWrapperType  string `json:"RecordWrapperType,omitempty"`  // None or RecordIO
	ContentType        string `json:"ContentType,omitempty"`        // as the request gave it; "" when it gave none
}

// Pipe reports whether the channel arrives through named pipes.
func (c Config) Pipe() bool { return strings.EqualFold(c.TrainingInputMode, "Pipe") }

// A Channel is a named Source and the number of its next epoch. Its methods may be called by
// several goroutines; one epoch is open at a time.
type Channel struct {
	Name   string
	Config Config
	Source Source

	mu   sync.Mutex
	next int // counts successful opens, as the platform does
	busy bool
}

// ErrOpen is the error of opening an epoch while the one before it is not closed.
var ErrOpen = errors.New("the epoch before it is still open")

// Open begins the channel's next epoch. It waits for a pipe that is not there yet, not for data.
// Errors are of type *Error, or context.Cause(ctx) once ctx is done.
func (c *Channel) Open(ctx context.Context) (*Epoch, error) {
	c.mu.Lock()
	number := c.next
	if c.busy {
		c.mu.Unlock()
		return nil, &Error{Channel: c.Name, Epoch: number, Err: ErrOpen}
	}
	c.busy = true
	c.mu.Unlock()

	r, err := c.Source.Open(ctx, number)

	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.busy = false
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &Error{Channel: c.Name, Epoch: number, Err: err}
	}
	c.next++
	return &Epoch{Number: number, ContentType: c.Config.ContentType, channel: c, ctx: ctx, r: r}, nil
}

// Epochs opens n epochs, one after the other, and closes each when the loop's body is through
// with it; n <= 0 means without end. An error is yielded last, once.
func (c *Channel) Epochs(ctx context.Context, n int) iter.Seq2[*Epoch, error] {
	return func(yield func(*Epoch, error) bool) {
		for i := 0; n <= 0 || i < n; i++ {
			epoch, err := c.Open(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			more := yield(epoch, nil)
			if err := epoch.Close(); err != nil && more {
				yield(nil, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

// An Epoch is one pass over a channel's data. It is not safe for concurrent use.
type Epoch struct {
	Number      int    // counts the opens of this channel, from 0
	ContentType string // of the channel; "" when the job names none

	channel *Channel
	ctx     context.Context
	r       io.ReadCloser
	bytes   int64
	closed  bool
}

// Read reads the epoch's bytes: all objects or files of the pass, one after the other. Its error
// is io.EOF at the end of the pass, context.Cause of the context that opened the epoch once that
// is done, or an *Error; after Close that of os.ErrClosed.
func (e *Epoch) Read(p []byte) (int, error) {
	if e.closed {
		return 0, e.At(os.ErrClosed)
	}
	if e.ctx.Err() != nil {
		return 0, context.Cause(e.ctx)
	}
	n, err := e.r.Read(p)
	e.bytes += int64(n)
	return n, e.At(err)
}

// Bytes returns how many bytes have been read.
func (e *Epoch) Bytes() int64 { return e.bytes }

// Close ends the epoch, read to its end or not. The next one may open then.
func (e *Epoch) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	err := e.r.Close()
	e.channel.mu.Lock()
	e.channel.busy = false
	e.channel.mu.Unlock()
	return e.At(err)
}

// At adds to err where it happened: this channel and epoch. It leaves alone nil, io.EOF, the
// cause of the epoch's context, and errors that have a channel already. Where err, or an error
// that it wraps, has a method ByteOffset() int64, a byte of the epoch, and the Source knows its
// files, At names the file too.
func (e *Epoch) At(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if e.ctx.Err() != nil && errors.Is(err, context.Cause(e.ctx)) {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	placed := &Error{Channel: e.channel.Name, Epoch: e.Number, Err: err}
	if at, ok := errors.AsType[byteError](err); ok {
		placed.File, placed.Offset = e.Locate(at.ByteOffset())
	}
	return placed
}

// A byteError knows the byte of the stream that it concerns, as a *recordio.FormatError does.
type byteError interface {
	error
	ByteOffset() int64
}

// Locate returns the file or object that a byte of the epoch comes from, and which byte of it that
// is; "" where the Source does not know (see Locator).
func (e *Epoch) Locate(offset int64) (name string, at int64) { return locate(e.r, offset) }

// An Error says in which channel and epoch something went wrong and, where that is known, in
// which file.
type Error struct {
	Channel string
	Epoch   int
	Err     error
	File    string // as Epoch.Locate names it, or ""
	Offset  int64  // byte of File
}

func (e *Error) Error() string {
	if absent, ok := errors.AsType[*AbsentError](e.Err); ok {
		return fmt.Sprintf("channel %s: %v", e.Channel, absent)
	}
	text := fmt.Sprintf("channel %s, epoch %d: %v", e.Channel, e.Epoch, e.Err)
	if e.File != "" {
		text += fmt.Sprintf(" (byte %d of %s)", e.Offset, e.File)
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }
