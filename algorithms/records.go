package algorithms

import (
	"context"
	"iter"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// Framing is how the RecordIO frames of a channel are read.
type Framing struct {
	Multipart recordio.Multipart // how the parts of split records are joined; MXNet's image files need recordio.DMLC
	MaxRecord int                // the longest record accepted, in bytes; 0 means 1 GiB
}

// Records opens the channel's next epoch and yields the records of its RecordIO frames as bytes,
// whatever they hold (application/x-recordio, or objects that the platform wrapped one by one);
// each is valid during its step. An error is yielded last, once, and names the place.
func Records(ctx context.Context, c *channel.Channel, f Framing) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		epoch, err := c.Open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer epoch.Close()
		reader := recordio.NewReader(epoch)
		reader.Multipart, reader.MaxSize = f.Multipart, f.MaxRecord
		for record, err := range reader.All() {
			if !yield(record, epoch.At(err)) {
				return
			}
		}
	}
}
