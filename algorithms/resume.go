package algorithms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
)

// BatchesFrom is Batches of what comes behind a position: the End of a batch, which a snapshot holds. In
// a container that has just been started, it opens the epochs before that of the position and
// closes them at once, which gives Pipe mode its pipes, and each epoch its order, as they were. In the position's epoch
// it leaves out the records before it: RecordIO by seeking where the channel can (see channel.Epoch.Skip), and
// otherwise by reading on. The batches are those of the uninterrupted run if MiniBatchSize is the same.
//
// The zero position is the channel's next epoch, wherever that is, from its beginning. An epoch that ends before the
// position is an io.ErrUnexpectedEOF: these are not the data that the snapshot was trained on.
func BatchesFrom(ctx context.Context, c *channel.Channel, p Batching, from checkpoint.Position) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		epoch, err := openAt(ctx, c, from)
		if err != nil {
			yield(nil, err)
			return
		}
		defer epoch.Close()
		rows, err := newRowReader(epoch, p)
		if err == nil {
			rows.channel = c.Name
			err = rows.skip(epoch, from)
		}
		if err != nil {
			yield(nil, epoch.At(err))
			return
		}
		batches(ctx, epoch, rows, yield)
	}
}

// openAt opens the position's epoch.
func openAt(ctx context.Context, c *channel.Channel, from checkpoint.Position) (*channel.Epoch, error) {
	for {
		epoch, err := c.Open(ctx)
		if err != nil {
			return nil, err
		}
		start := from.Epoch == 0 && from.Records == 0
		switch {
		case start || epoch.Number == from.Epoch:
			return epoch, nil
		case from.Epoch < epoch.Number:
			epoch.Close()
			return nil, epoch.At(fmt.Errorf("the position to go on from is in epoch %d, which is over", from.Epoch))
		}
		// A byte shows that the platform has opened its end of the pipe: it might wait for a reader for ever otherwise.
		_, err = io.CopyN(io.Discard, epoch, 1)
		if err == io.EOF {
			err = nil
		}
		if err = cmp.Or(err, epoch.Close()); err != nil {
			return nil, err
		}
	}
}

// skip leaves out the records before a position.
func (r *rowReader) skip(epoch *channel.Epoch, from checkpoint.Position) error {
	if from.Records < 0 || from.Bytes < 0 {
		return fmt.Errorf("there is no position at record %d, byte %d", from.Records, from.Bytes)
	}
	records, ok := r.format.(*recordFormat)
	if ok && from.Bytes > 0 {
		if err := epoch.Skip(from.Bytes); err != nil {
			if placed, ok := errors.AsType[*channel.Error](err); ok {
				placed.Err = fmt.Errorf("going on at record %d, byte %d: %w", from.Records, from.Bytes, placed.Err)
			}
			return err
		}
		records.reader.StartAt(from.Records, from.Bytes)
		r.count = from.Records
		return nil
	}
	for ; r.count < from.Records; r.count++ {
		err := r.format.next()
		if err == io.EOF {
			return fmt.Errorf("going on at record %d: the epoch has %d: %w", from.Records, r.count, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
