package algorithms

import (
	"context"
	"io"
	"iter"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
)

// Batches opens the channel's next epoch and yields its rows in order, MiniBatchSize at a time;
// the last batch has what is left. A batch is valid during its step: its memory is used again.
// Reading and decoding go on, Ahead batches ahead, while the loop's body runs, and end with the
// loop. An error is yielded last, once; it names the channel, the epoch, and the record and the
// byte or the line.
//
// The channel's content type decides the format: application/x-recordio-protobuf, which it is
// without one; text/csv, whose first column is the label unless label_size says otherwise;
// text/libsvm; or application/jsonlines.
func Batches(ctx context.Context, c *channel.Channel, p Batching) iter.Seq2[*Batch, error] {
	return BatchesFrom(ctx, c, p, checkpoint.Position{})
}

// batches yields the rows of an epoch that is open.
func batches(ctx context.Context, epoch *channel.Epoch, rows *rowReader, yield func(*Batch, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	pipe := startPipeline(ctx, rows, rows.Ahead)
	defer pipe.wait()
	defer cancel() // before waiting
	for batch := range pipe.full {
		if !yield(batch, nil) {
			return
		}
		pipe.free <- batch
	}
	if pipe.err != io.EOF {
		yield(nil, epoch.At(pipe.err))
	}
}

// A pipeline decodes batches in a goroutine of its own. There are ahead+1 batches: free ones, full
// ones in order, and the one in the algorithm's hands.
type pipeline struct {
	free chan *Batch
	full chan *Batch // closed at the end
	err  error       // why it ended; io.EOF after the last batch. Valid once full is closed
}

func startPipeline(ctx context.Context, rows *rowReader, ahead int) *pipeline {
	if ahead < 1 {
		ahead = 2
	}
	p := &pipeline{free: make(chan *Batch, ahead+1), full: make(chan *Batch, ahead)}
	for range ahead + 1 {
		p.free <- new(Batch)
	}
	go func() {
		defer close(p.full)
		p.err = p.run(ctx, rows)
	}()
	return p
}

func (p *pipeline) run(ctx context.Context, rows *rowReader) error {
	for {
		var batch *Batch
		select {
		case batch = <-p.free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := rows.read(batch); err != nil {
			return err
		}
		select {
		case p.full <- batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wait returns when the goroutine has ended, which its context makes it do.
func (p *pipeline) wait() {
	for range p.full {
	}
}
