package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform/s3stream"
)

// Cat streams a channel.
type Cat struct {
	origin
	listing
	Epochs int `default:"1" placeholder:"N" help:"How many epochs to stream, one after the other (${default})."`

	Gzip      bool         `help:"Decompress each object (CompressionType Gzip)."`
	RecordIO  bool         `name:"recordio" help:"Make each object a RecordIO record (RecordWrapperType RecordIO)."`
	MaxRecord console.Size `placeholder:"SIZE" help:"With --recordio, write longer records in parts (512MiB)."`
	Lines     bool         `help:"Put a newline between objects where the first lacks one at its end."`

	ReadAhead   console.Size `default:"256MiB" placeholder:"SIZE" help:"Memory for what is fetched ahead of the reader (${default})."`
	Concurrency int          `default:"64" placeholder:"N" help:"Requests at a time, at most (${default})."`

	To    string `placeholder:"PATH" help:"Where to write: a file, which appears when it is whole, or a named pipe. Default: stdout."`
	Stats bool   `short:"v" help:"Tell at the end how it went, on stderr. A terminal is always told."`
}

// Help tells what the flags don't.
func (c *Cat) Help() string {
	return `The bytes are those of all objects in the order of their keys, with nothing between them, fetched
several at a time. What breaks off is asked for again; an object that changed is an error.

    algospec data cat s3://bucket/train/ | wc -c
    algospec data cat --shard 0/4 --shuffle-seed 7 --epoch 2 --to /tmp/train_2 s3://bucket/train/
    algospec data cat --attributes source-ref,class --recordio s3://bucket/train.jsonl >train.rec

AWS credentials, region and endpoint come from the usual files and variables, such as AWS_PROFILE
and AWS_ENDPOINT_URL_S3.`
}

// Validate checks what the types do not.
func (c *Cat) Validate() error {
	if c.MaxRecord > 0 && !c.RecordIO {
		return errors.New("--max-record is for --recordio")
	}
	return cmp.Or(c.validate(), atLeast(1, "--epochs", c.Epochs), atLeast(1, "--concurrency", c.Concurrency))
}

// Run carries out the command.
func (c *Cat) Run(ctx context.Context, streams console.Streams) error {
	if c.To == "" && console.IsTerminal(streams.Out) {
		streams.Err = struct{ io.Writer }{streams.Err} // the data show how far they are: no bar among them
	}
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	list, err := c.read(ctx, client, c.URI)
	if err != nil {
		return err
	}
	m := &meter{every: list, stored: c.Gzip}
	if console.IsTerminal(streams.Err) {
		m.expect(s3stream.NewSource(client, list, c.order()), c.Epoch, c.Epochs)
	}
	progress := console.NewProgress(streams, "reading", m.bytes)
	opts := c.options()
	opts.Logger = progress.Logger()
	stream := &epochs{ctx: ctx, source: s3stream.NewSource(client, list, opts), first: c.Epoch, count: c.Epochs}

	stop := m.watch(ctx, stream.source, progress)
	err = deliver(ctx, c.To, streams.Out, stream)
	stop()
	if c.Stats || progress.Shows() {
		fmt.Fprintln(streams.Err, m.summary(stream.source.Stats(), stream.took()))
	}
	return err
}

func (c *Cat) options() s3stream.Options {
	opts := c.order()
	opts.Gzip, opts.RecordIO, opts.Lines = c.Gzip, c.RecordIO, c.Lines
	opts.MaxRecord, opts.ReadAhead, opts.Concurrency = int(c.MaxRecord), int64(c.ReadAhead), c.Concurrency
	return opts
}

// epochs are the bytes of some epochs, one after the other. Nothing is fetched before they are
// written somewhere.
type epochs struct {
	ctx          context.Context
	source       *s3stream.Source
	first, count int
	began        time.Time // zero before
}

// WriteTo writes all epochs.
func (e *epochs) WriteTo(w io.Writer) (written int64, err error) {
	e.began = time.Now()
	for i := range e.count {
		n, err := e.write(w, e.first+i)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (e *epochs) write(w io.Writer, number int) (int64, error) {
	epoch, err := e.source.Open(e.ctx, number)
	if err != nil {
		return 0, err
	}
	defer epoch.Close()
	return epoch.(io.WriterTo).WriteTo(w)
}

func (e *epochs) took() time.Duration {
	if e.began.IsZero() {
		return 0
	}
	return time.Since(e.began)
}

// A meter words the figures of a Source.
type meter struct {
	every  s3stream.Listing
	stored bool  // the objects are delivered otherwise than they are stored
	bytes  int64 // expected; negative where S3 alone knows
	items  int64 // expected
}

// expect finds out what is to be delivered in all.
func (m *meter) expect(source *s3stream.Source, first, count int) {
	for epoch := first; epoch < first+count; epoch++ {
		for item, err := range source.Items(epoch) {
			if err != nil {
				return // it comes again
			}
			m.items++
			size := int64(len(item.Text))
			if item.Object != nil {
				size = item.Object.Size
			}
			if size < 0 || m.bytes < 0 {
				m.bytes = -1
			} else {
				m.bytes += size
			}
		}
	}
}

// watch shows how it goes, until it is told to stop.
func (m *meter) watch(ctx context.Context, source *s3stream.Source, progress *console.Progress) (stop func()) {
	if !progress.Shows() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() {
		for s := range source.Watch(ctx, 100*time.Millisecond) {
			done := s.Bytes
			if m.stored {
				done = s.Fetched
			}
			progress.Show(done, m.figures(s)...)
		}
	})
	return func() {
		cancel()
		shown.Wait()
		progress.Done()
	}
}

// figures are those of this moment.
func (m *meter) figures(s s3stream.Stats) []string {
	return []string{
		fmt.Sprintf("%d/%s", s.Items, m.count(m.items)),
		fmt.Sprintf("%d in flight", s.Active),
		console.Count(s.Retries, "retry", "retries"),
		console.Bytes(s.Held) + " held",
		fmt.Sprintf("waited %s for S3, %s for the reader", console.Seconds(s.WaitedForS3), console.Seconds(s.WaitedForReader)),
	}
}

// summary is the figures of the end.
func (m *meter) summary(s s3stream.Stats, took time.Duration) string {
	text := rate(s.Bytes, took)
	if m.stored {
		text += ", of " + console.Bytes(s.Fetched) + " stored"
	}
	return fmt.Sprintf("%s; %s, %s, %s; waited %s for S3, %s for the reader", text, m.count(s.Items),
		console.Count(s.Requests, "request", "requests"), console.Count(s.Retries, "retry", "retries"),
		console.Seconds(s.WaitedForS3), console.Seconds(s.WaitedForReader))
}

// count words what is delivered, which of an augmented manifest's lines may be texts.
func (m *meter) count(n int64) string {
	if _, objects := m.every.(s3stream.Objects); objects {
		return console.Count(n, "object", "objects")
	}
	return console.Count(n, "item", "items")
}

// rate words how fast bytes have come.
func rate(bytes int64, took time.Duration) string {
	perSecond := int64(0)
	if took > 0 {
		perSecond = int64(float64(bytes) / took.Seconds())
	}
	return fmt.Sprintf("%s in %s, %s/s", console.Bytes(bytes), console.Seconds(took), console.Bytes(perSecond))
}
