package data

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform/s3stream"
)

// List lists objects.
type List struct {
	origin
	listing
	Paths bool `help:"Show where the objects go in File mode, below the channel's directory."`
	Stats bool `short:"v" help:"Tell at the end how many there are, on stderr. A terminal is always told."`
}

// Help tells what the flags don't.
func (c *List) Help() string {
	return `A line holds the bytes of an object and its URI, and with --paths the path of its file between
them. Of an augmented manifest the sizes of objects are not known (-), and texts are shown in quotes.

    algospec data list s3://bucket/train/
    algospec data list --paths s3://bucket/train
    algospec data list --shard 1/4 --shuffle-seed 7 --epoch 2 s3://bucket/train/`
}

// Validate checks what the types do not.
func (c *List) Validate() error {
	if c.Paths && len(c.Attributes) > 0 {
		return errors.New("--paths: an augmented manifest is for Pipe mode, which has no files")
	}
	if c.Paths && c.ShuffleSeed != nil {
		return errors.New("--paths: files are not shuffled")
	}
	return c.validate()
}

// A row is a line of the list.
type row struct {
	size int64 // negative where it is not known
	path string
	name string
}

// Run carries out the command.
func (c *List) Run(ctx context.Context, streams console.Streams) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	rows := c.items
	if c.Paths {
		rows = c.paths
	}
	all, err := rows(ctx, client)
	if err != nil {
		return err
	}
	if err := show(streams.Out, all, c.Paths); err != nil {
		return err
	}
	if c.Stats || console.IsTerminal(streams.Out) && console.IsTerminal(streams.Err) {
		fmt.Fprintln(streams.Err, c.sum(all))
	}
	return nil
}

// items are the rows of what an epoch delivers.
func (c *List) items(ctx context.Context, client s3stream.Client) ([]row, error) {
	list, err := c.read(ctx, client, c.URI)
	if err != nil {
		return nil, err
	}
	var rows []row
	for item, err := range s3stream.NewSource(client, list, c.order()).Items(c.Epoch) {
		if err != nil {
			return nil, err
		}
		if item.Object == nil {
			rows = append(rows, row{size: int64(len(item.Text)), name: strconv.Quote(string(item.Text))})
		} else {
			rows = append(rows, row{size: item.Object.Size, name: name(item.Object)})
		}
	}
	return rows, nil
}

// paths are the rows of files.
func (c *List) paths(ctx context.Context, client s3stream.Client) ([]row, error) {
	files, err := files(ctx, client, c.URI, c.Manifest, c.Shard)
	var rows []row
	for i := range files {
		f := &files[i]
		rows = append(rows, row{f.Object.Size, console.Printable(f.Path), name(&f.Object)})
	}
	return rows, err
}

func name(o *s3stream.Object) string { return console.Printable("s3://" + o.Bucket + "/" + o.Key) }

// show writes the rows in columns.
func show(to io.Writer, rows []row, paths bool) error {
	sizes, names := 1, 0
	for i := range rows {
		sizes = max(sizes, len(rows[i].bytes()))
		names = max(names, len(rows[i].path))
	}
	out := bufio.NewWriter(to)
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(out, "%*s  ", sizes, r.bytes())
		if paths {
			fmt.Fprintf(out, "%-*s  ", names, r.path)
		}
		fmt.Fprintln(out, r.name)
	}
	return out.Flush()
}

func (r *row) bytes() string {
	if r.size < 0 {
		return "-"
	}
	return strconv.FormatInt(r.size, 10)
}

// sum words how much there is.
func (c *List) sum(rows []row) string {
	what := [2]string{"object", "objects"}
	if len(c.Attributes) > 0 {
		what = [2]string{"item", "items"}
	}
	text := console.Count(int64(len(rows)), what[0], what[1])
	size := int64(0)
	for i := range rows {
		if rows[i].size < 0 {
			return text + ", sizes unknown"
		}
		size += rows[i].size
	}
	return text + ", " + console.Bytes(size)
}
