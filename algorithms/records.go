package algorithms

import (
	"context"
	"iter"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// Records opens the channel's next epoch and yields the records of its RecordIO frames as bytes,
// whatever they hold (application/x-recordio, or objects that the platform wrapped one by one);
// each is valid during its step. An error is yielded last, once, and names the place.
func Records(ctx context.Context, c *channel.Channel) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		epoch, err := c.Open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer epoch.Close()
		for record, err := range recordio.NewReader(epoch).All() {
			if !yield(record, epoch.At(err)) {
				return
			}
		}
	}
}
