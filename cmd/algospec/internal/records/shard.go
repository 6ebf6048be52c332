package records

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/recordio/convert"
)

// Shard splits records into files of equal counts.
type Shard struct {
	Input  string `arg:"" help:"A file, a directory or s3://bucket/prefix, compressed with gzip or not. It is read twice."`
	N      int    `name:"shards" short:"n" required:"" placeholder:"N" help:"How many shards."`
	Out    string `required:"" placeholder:"DIR" help:"Where to write matrix_<i>.pbr and .amazon.manifest: a directory or s3://bucket/prefix."`
	Prefix string `placeholder:"URI" help:"What the manifest puts before the names: where the shards will be in S3. Default: --out."`
	framing
}

// Validate checks what the types do not.
func (c *Shard) Validate() error {
	if c.N < 1 {
		return fmt.Errorf("-n %d: not a positive count", c.N)
	}
	if c.Input == "-" {
		return errors.New("stdin can't be read twice, as shard must: name a file")
	}
	return nil
}

// Run carries out the command: the first n-1 shards get floor(rows/n) rows each, the last one the
// rest (container contract, 2.7 and 5.4). The frames are copied as they are.
func (c *Shard) Run(ctx context.Context, streams console.Streams) error {
	in, err := open(ctx, streams, c.framing, []string{c.Input})
	if err != nil {
		return err
	}
	if err := in.once("shard"); err != nil {
		return err
	}
	to, err := newSink(ctx, c.Out)
	if err != nil {
		return err
	}
	rows, err := c.count(ctx, streams, in)
	if err != nil {
		return err
	}
	if rows < int64(c.N) {
		return fmt.Errorf("%s can't fill %s", records(rows), console.Count(int64(c.N), "shard", "shards"))
	}
	names, err := c.write(ctx, streams, in, to, rows)
	if err != nil {
		return err
	}
	prefix := c.Prefix
	if prefix == "" {
		prefix = to.prefix()
	}
	err = to.create(ctx, convert.ManifestName, func(w io.Writer) error {
		_, err := w.Write(convert.Manifest(prefix, names))
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s in %s of %s, the last of %d\n", records(rows),
		console.Count(int64(c.N), "shard", "shards"), records(rows/int64(c.N)), rows-int64(c.N-1)*(rows/int64(c.N)))
	return err
}

// count returns how many records there are.
func (c *Shard) count(ctx context.Context, streams console.Streams, in *input) (rows int64, err error) {
	in.show(streams, "counting")
	defer in.progress.Done()
	for _, err := range in.records(ctx) {
		if err != nil {
			return 0, err
		}
		rows++
	}
	return rows, nil
}

// write writes the shards and returns their names.
func (c *Shard) write(ctx context.Context, streams console.Streams, in *input, to sink, rows int64) (names []string, err error) {
	in.show(streams, "sharding")
	defer in.progress.Done()
	next, stop := iter.Pull2(in.frames(ctx))
	defer stop()
	for i := range c.N {
		left := rows / int64(c.N)
		if i == c.N-1 {
			left = rows - int64(i)*left
		}
		name := convert.ShardName(i, c.N)
		err := to.create(ctx, name, func(w io.Writer) error { return copyFrames(w, next, left) })
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if _, err, more := next(); more {
		return nil, cmp.Or(err, errChanged)
	}
	return names, nil
}

func copyFrames(w io.Writer, next func() ([]byte, error, bool), n int64) error {
	for range n {
		frames, err, ok := next()
		if !ok {
			return errChanged
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(frames); err != nil {
			return err
		}
	}
	return nil
}

// frames yields the frames of each record as they are, valid during the step. An error is yielded
// last.
func (in *input) frames(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for s, err := range in.streams(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			var ahead bytes.Buffer // what the reader has read
			reader := in.reader(io.TeeReader(s, &ahead))
			begin := int64(0)
			for _, err := range reader.All() {
				if err != nil {
					yield(nil, s.at(err))
					return
				}
				if !yield(ahead.Next(int(reader.Offset()-begin)), nil) {
					return
				}
				begin = reader.Offset()
			}
		}
	}
}
