// Package channeltest checks that a channel.Source keeps the contract that all Sources share, as
// testing/fstest does for file systems.
package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing/iotest"

	"github.com/algospec/algospec/channel"
)

// TestSource opens one epoch of src after the other, whose bytes must be want, and returns an
// error that says where src falls short. Epochs are read to the end, in reads of many sizes,
// closed early at chosen places, and cancelled; a closed or cancelled epoch counts, so want needs
// an element for each of the Epochs.
func TestSource(ctx context.Context, src channel.Source, want [Epochs][]byte) error {
	c := &channel.Channel{Name: "test", Source: src}
	for number, check := range checks {
		if err := check(ctx, c, number, want[number]); err != nil {
			return fmt.Errorf("epoch %d: %w", number, err)
		}
	}
	return nil
}

// Epochs is how many epochs TestSource opens.
const Epochs = len(checks)

var checks = [...]func(context.Context, *channel.Channel, int, []byte) error{
	readWhole,
	readReaders(iotest.OneByteReader),
	closeAfter(func(int) int { return 0 }),
	closeAfter(func(size int) int { return size / 2 }),
	closeAfter(func(size int) int { return size }),
	readReaders(iotest.HalfReader),
	cancelled,
	readWhole,
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

func readWhole(ctx context.Context, c *channel.Channel, number int, want []byte) error {
	return readReaders(func(r io.Reader) io.Reader { return r })(ctx, c, number, want)
}

func readReaders(wrap func(io.Reader) io.Reader) func(context.Context, *channel.Channel, int, []byte) error {
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
		if n, err := epoch.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			return fmt.Errorf("read past the end: got %d, %v, want 0, EOF", n, err)
		}
		if epoch.Bytes() != int64(len(want)) {
			return fmt.Errorf("Bytes: got %d, want %d", epoch.Bytes(), len(want))
		}
		return epoch.Close()
	}
}

// closeAfter closes the epoch when part of it has been read.
func closeAfter(part func(size int) int) func(context.Context, *channel.Channel, int, []byte) error {
	return func(ctx context.Context, c *channel.Channel, number int, want []byte) error {
		epoch, err := open(ctx, c, number)
		if err != nil {
			return err
		}
		got := make([]byte, part(len(want)))
		if _, err := io.ReadFull(epoch, got); err != nil {
			return errors.Join(fmt.Errorf("read %d bytes: %w", len(got), err), epoch.Close())
		}
		if !bytes.Equal(got, want[:len(got)]) {
			return errors.Join(fmt.Errorf("the first %d bytes differ", len(got)), epoch.Close())
		}
		if err := epoch.Close(); err != nil {
			return fmt.Errorf("close after %d of %d bytes: %w", len(got), len(want), err)
		}
		return epoch.Close() // a second Close does no harm
	}
}

// cancelled expects the context's cause from an epoch whose context ends.
func cancelled(ctx context.Context, c *channel.Channel, number int, _ []byte) error {
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	epoch, err := open(ctx, c, number)
	if err != nil {
		return err
	}
	defer epoch.Close()
	cancel(cause)
	if _, err := epoch.Read(make([]byte, 1)); !errors.Is(err, cause) {
		return fmt.Errorf("read after cancel: got %v, want the cause", err)
	}
	if err := epoch.Close(); err != nil {
		return fmt.Errorf("close after cancel: %w", err)
	}
	if _, err := c.Open(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("open after cancel: got %v, want the cause", err)
	}
	return nil
}
