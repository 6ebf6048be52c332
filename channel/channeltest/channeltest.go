// Package channeltest checks that a channel.Source keeps the contract that all Sources share, as
// testing/fstest does for file systems.
package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing/iotest"

	"github.com/algospec/algospec/channel"
)

// TestSource opens one epoch of src after the other, whose bytes must be want, and returns an
// error that says where src falls short. A closed or cancelled epoch counts, so want needs an
// element for each of the Epochs. TestSource covers these rows of the container contract, 11.2,
// as far as they concern a reader:
//
//   - P1 three epochs in a row, then reads of many sizes;
//   - P2 early close: before the first byte, after it, midway, before the last byte, and after it;
//   - P3, D2 empty epochs, where want has them;
//   - P8 an Open that fails counts no epoch and skips none;
//   - P13 cancellation before the first read, midway, and before Open;
//   - P14 goroutines that src started, and files and pipes that it opened for reading, are gone at
//     the end. Idle HTTP connections may stay. Descriptors are checked on Linux only, and the
//     caller must not open files meanwhile that it keeps open.
//
// Waiting is the matter of who provides the data, so the tests of FIFO cover P5, P7 and P13 while
// waiting for the pipe, its writer, and data, and the test of Gzip P10. The rows P4, P6, P9, P11,
// P12, D1 and D3 to D5 concern the platform's side alone.
func TestSource(ctx context.Context, src channel.Source, want [Epochs][]byte) error {
	leaks := watchLeaks()
	c := &channel.Channel{Name: "test", Source: &tapped{Source: src}}
	err := leaks.run(ctx, func(ctx context.Context) error {
		for number, check := range checks {
			if err := check.run(ctx, c, number, want[number]); err != nil {
				return fmt.Errorf("epoch %d, %s: %w", number, check.name, err)
			}
		}
		return nil
	})
	return errors.Join(err, leaks.check())
}

// Epochs is how many epochs TestSource opens.
const Epochs = len(checks)

// A check takes one epoch.
type check struct {
	name string
	run  func(ctx context.Context, c *channel.Channel, number int, want []byte) error
}

var checks = [...]check{
	{"read whole", readThrough(whole)},
	{"read whole again", readThrough(whole)},
	{"read whole a third time", readThrough(whole)},
	{"read by the byte", readThrough(byBytes)},
	{"read by half of what is asked for", readThrough(iotest.HalfReader)},
	{"read in small steps", readSmall},
	{"closed before the first byte", closeAfter(func(int) int { return 0 })},
	{"closed after the first byte", closeAfter(func(size int) int { return min(1, size) })},
	{"closed midway", closeAfter(func(size int) int { return size / 2 })},
	{"closed before the last byte", closeAfter(func(size int) int { return max(0, size-1) })},
	{"closed after the last byte", closeAfter(func(size int) int { return size })},
	{"cancelled before the first byte", cancelAfter(func(int) int { return 0 })},
	{"cancelled midway", cancelAfter(func(size int) int { return size / 2 })},
	{"read whole after that", readThrough(whole)},
}

// A tapped Source keeps the reader that it opened last. An Epoch looks at its context itself, so
// whether the reader does shows only without it.
type tapped struct {
	channel.Source
	last io.Reader
}

func (t *tapped) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	r, err := t.Source.Open(ctx, epoch)
	if err == nil {
		t.last = r
	}
	return r, err
}

func open(ctx context.Context, c *channel.Channel, number int) (*channel.Epoch, error) {
	epoch, err := c.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if epoch.Number != number {
		return nil, errors.Join(fmt.Errorf("got number %d", epoch.Number), epoch.Close())
	}
	if _, err := c.Open(ctx); !errors.Is(err, channel.ErrOpen) {
		return nil, errors.Join(fmt.Errorf("second open while one is open: got %v, want %w", err, channel.ErrOpen), epoch.Close())
	}
	return epoch, nil
}

func whole(r io.Reader) io.Reader { return r }

// byBytes reads a byte at a time, for long enough to see what that does.
func byBytes(r io.Reader) io.Reader {
	return io.MultiReader(iotest.OneByteReader(io.LimitReader(r, 20_000)), r)
}

// readThrough reads the epoch, as wrap will have it, to the end and past it.
func readThrough(wrap func(io.Reader) io.Reader) func(context.Context, *channel.Channel, int, []byte) error {
	return func(ctx context.Context, c *channel.Channel, number int, want []byte) error {
		epoch, err := open(ctx, c, number)
		if err != nil {
			return err
		}
		defer epoch.Close()
		got, err := io.ReadAll(wrap(epoch))
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("got %d bytes %.40q, want %d bytes %.40q", len(got), got, len(want), want)
		}
		for range 2 {
			if n, err := epoch.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				return fmt.Errorf("read past the end: got %d, %v, want 0, EOF", n, err)
			}
		}
		if epoch.Bytes() != int64(len(want)) {
			return fmt.Errorf("counted %d bytes, want %d", epoch.Bytes(), len(want))
		}
		return epoch.Close()
	}
}

// readSmall leaves the reading to iotest, after a read that asks for nothing. Where the data are
// many, their beginning will do.
func readSmall(ctx context.Context, c *channel.Channel, number int, want []byte) error {
	epoch, err := open(ctx, c, number)
	if err != nil {
		return err
	}
	defer epoch.Close()
	if n, err := epoch.Read(nil); n != 0 || err != nil && err != io.EOF {
		return fmt.Errorf("read of no bytes: got %d, %v", n, err)
	}
	const many = 20_000
	var r io.Reader = epoch
	if len(want) > many {
		r, want = io.LimitReader(r, many), want[:many]
	}
	if err := iotest.TestReader(r, want); err != nil {
		return err
	}
	return epoch.Close()
}

// openPart opens an epoch and reads the first bytes of it.
func openPart(ctx context.Context, c *channel.Channel, number int, want []byte) (*channel.Epoch, error) {
	epoch, err := open(ctx, c, number)
	if err != nil {
		return nil, err
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(epoch, got); err != nil {
		return nil, errors.Join(fmt.Errorf("read %d bytes: %w", len(got), err), epoch.Close())
	}
	if !bytes.Equal(got, want) {
		return nil, errors.Join(fmt.Errorf("the first %d bytes differ", len(got)), epoch.Close())
	}
	return epoch, nil
}

// closeAfter closes the epoch when part of it has been read.
func closeAfter(part func(size int) int) func(context.Context, *channel.Channel, int, []byte) error {
	return func(ctx context.Context, c *channel.Channel, number int, want []byte) error {
		epoch, err := openPart(ctx, c, number, want[:part(len(want))])
		if err != nil {
			return err
		}
		if err := epoch.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
		if n, err := epoch.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("read after close: got %d, %v, want 0, %w", n, err, os.ErrClosed)
		}
		return epoch.Close() // a second Close does no harm
	}
}

// cancelAfter expects the context's cause, when part of the epoch has been read and its context
// is done, from every read and from an Open, which counts no epoch.
func cancelAfter(part func(size int) int) func(context.Context, *channel.Channel, int, []byte) error {
	return func(ctx context.Context, c *channel.Channel, number int, want []byte) error {
		cause := errors.New("stopped by the test")
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		epoch, err := openPart(ctx, c, number, want[:part(len(want))])
		if err != nil {
			return err
		}
		defer epoch.Close()
		cancel(cause)
		for _, r := range []io.Reader{epoch, c.Source.(*tapped).last, epoch} {
			if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, cause) {
				return fmt.Errorf("read after cancel: got %d, %v, want 0 and the cause", n, err)
			}
		}
		if err := epoch.Close(); err != nil {
			return fmt.Errorf("close after cancel: %w", err)
		}
		if _, err := c.Open(ctx); !errors.Is(err, cause) {
			return fmt.Errorf("open after cancel: got %v, want the cause", err)
		}
		return nil
	}
}
