package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/recordio"
)

// A part is one file, object or pipe of the input: a stream of frames for itself, so that damage
// in one does not reach into the next.
type part struct {
	name string // for people
	size int64  // as stored; negative where it is not known
	open func(context.Context) (io.ReadCloser, error)

	replayable bool // opens again with the same content, as a pipe does not
}

// An input is all parts that a command reads, in order.
type input struct {
	framing
	parts    []part
	progress *console.Progress
}

// open finds the parts of the input that the arguments name.
func open(ctx context.Context, streams console.Streams, how framing, args []string) (*input, error) {
	in := &input{framing: how, progress: &console.Progress{}}
	for _, arg := range args {
		parts, err := find(ctx, streams, arg)
		if err != nil {
			return nil, err
		}
		in.parts = append(in.parts, parts...)
	}
	return in, nil
}

func find(ctx context.Context, streams console.Streams, arg string) ([]part, error) {
	switch {
	case arg == "-":
		return []part{stdin(streams.In)}, nil
	case strings.HasPrefix(arg, "s3://"):
		return objects(ctx, arg)
	}
	return files(arg)
}

// once returns the error of input that can't be read twice, as what needs it to; nil where it can.
func (in *input) once(what string) error {
	for i := range in.parts {
		if p := &in.parts[i]; !p.replayable {
			return p.at(fmt.Errorf("it can't be read twice, as %s needs", what))
		}
	}
	return nil
}

// errChanged is the error of a second pass that does not find what the first one did.
var errChanged = errors.New("the input has changed while it was read")

// show shows the progress of reading the input.
func (in *input) show(streams console.Streams, description string) {
	total := int64(0)
	for _, p := range in.parts {
		if total += max(p.size, 0); p.size < 0 {
			total = -1
			break
		}
	}
	in.progress = console.NewProgress(streams, description, total)
}

// A stream is a part that is open, decompressed.
type stream struct {
	*part
	io.Reader
	stored io.Reader // as it is stored, without progress
}

// at adds to an error the name of the part, where the error does not know it.
func (p *part) at(err error) error {
	var object *s3stream.ObjectError
	var path *fs.PathError
	if errors.As(err, &object) || errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%s: %w", console.Printable(p.name), err)
}

// streams opens the parts, one after the other. Each stream is valid during its step; it need not
// be read to its end. An error is yielded last.
func (in *input) streams(ctx context.Context) iter.Seq2[stream, error] {
	return func(yield func(stream, error) bool) {
		for i := range in.parts {
			p := &in.parts[i]
			src, err := p.open(ctx)
			if err != nil {
				yield(stream{}, p.at(err))
				return
			}
			more := yield(stream{p, decompress(in.progress.Reader(&cancelable{ctx, src})), src}, nil)
			src.Close()
			if !more {
				return
			}
		}
	}
}

// A cancelable reader ends when its context does.
type cancelable struct {
	ctx context.Context
	io.Reader
}

func (r *cancelable) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(b)
}

// A record is one of the input.
type record struct {
	part    *part
	index   int64 // in the part, from 0
	offset  int64 // of its frame, in the part
	payload []byte
}

// at adds to an error where the record stands.
func (r *record) at(err error) error {
	return r.part.at(&recordio.FormatError{Record: r.index, Offset: r.offset, Err: err})
}

// records yields the records of all parts, each valid during its step. An error is yielded last.
func (in *input) records(ctx context.Context) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for s, err := range in.streams(ctx) {
			if err != nil {
				yield(record{}, err)
				return
			}
			reader := in.reader(s)
			r := record{part: s.part}
			for payload, err := range reader.All() {
				r.payload = payload
				if err != nil {
					yield(r, s.at(err))
					return
				}
				if !yield(r, nil) {
					return
				}
				r.index++
				r.offset = reader.Offset()
			}
		}
	}
}

// reader returns a reader of the frames in src.
func (in *input) reader(src io.Reader) *recordio.Reader {
	reader := recordio.NewReader(src)
	reader.Multipart, reader.MaxSize = in.multipart(), int(in.MaxRecord)
	return reader
}

// stdin is the part that is the standard input.
func stdin(src io.Reader) part {
	size := int64(-1)
	if file, ok := src.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	return part{name: "stdin", size: size, open: func(ctx context.Context) (io.ReadCloser, error) {
		return interruptible(ctx, func() (io.ReadCloser, error) { return io.NopCloser(src), nil }), nil
	}}
}

// interruptible reads what may block for ever in a goroutine of its own, so that Ctrl-C is not kept
// waiting.
func interruptible(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		src, err := open()
		if err != nil {
			w.CloseWithError(err)
			return
		}
		defer src.Close()
		_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{src}, make([]byte, 256<<10))
		w.CloseWithError(err)
	}()
	return r
}
