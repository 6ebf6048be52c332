package channel

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Gzip returns the Source of what src holds compressed. A stream of several gzip members, such as
// several compressed files one after the other, is the concatenation of what they hold; an empty
// stream is an empty epoch. Damage is a *GzipError, and so is a stream that ends inside a member,
// with io.ErrUnexpectedEOF: never a silent end. Opening does not wait for data.
//
// What the members hold is joined as it is. To repair newlines between compressed files of text,
// decompress them one by one: a Concat of Gzip(File(path)) with Lines.
//
// A Pipe-mode channel needs no Gzip: the service decompresses while it streams (container
// contract, 2.9).
func Gzip(src Source) Source { return gzipSource{src} }

type gzipSource struct{ src Source }

func (s gzipSource) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	src, err := s.src.Open(ctx, epoch)
	if err != nil {
		return nil, err
	}
	r := &gzipReader{ctx: ctx, src: src, raw: counter{r: src}}
	r.in = bufio.NewReaderSize(&r.raw, 256<<10)
	return r, nil
}

type gzipReader struct {
	ctx    context.Context
	src    io.ReadCloser
	raw    counter // reads src
	in     *bufio.Reader
	plain  *gzip.Reader // nil until the first Read
	failed error        // sticky
}

// A counter counts what it reads and remembers the error.
type counter struct {
	r     io.Reader
	bytes int64
	err   error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bytes += int64(n)
	c.err = err
	return n, err
}

func (r *gzipReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	if r.failed != nil {
		return 0, r.failed
	}
	if r.plain == nil {
		if r.plain, r.failed = gzip.NewReader(r.in); r.failed != nil {
			r.failed = r.place(r.failed)
			return 0, r.failed
		}
	}
	n, err := r.plain.Read(p)
	if err != nil {
		r.failed = r.place(err)
	}
	return n, r.failed
}

// place wraps an error of the decoder, and leaves alone the end and the errors of the source.
func (r *gzipReader) place(err error) error {
	if err == io.EOF || r.raw.err != nil && r.raw.err != io.EOF && errors.Is(err, r.raw.err) {
		return err
	}
	offset := r.raw.bytes - int64(r.in.Buffered())
	file, last := locate(r.src, offset-1) // the next byte may be that of another file
	if file != "" {
		offset = last + 1
	}
	return &GzipError{File: file, Offset: offset, Err: err}
}

func (r *gzipReader) Close() error { return r.src.Close() }

// A GzipError says where compressed data are wrong.
type GzipError struct {
	File   string // "" where the Source does not know its files
	Offset int64  // compressed bytes, of the file or else of the stream, that decoding had taken
	Err    error  // gzip.ErrHeader, gzip.ErrChecksum, flate.CorruptInputError or io.ErrUnexpectedEOF
}

func (e *GzipError) Error() string {
	of := ""
	if e.File != "" {
		of = " of " + e.File
	}
	return fmt.Sprintf("gzip: byte %d%s: %s", e.Offset, of, strings.TrimPrefix(e.Err.Error(), "gzip: "))
}

func (e *GzipError) Unwrap() error { return e.Err }

// ClientError reports that the job's data are at fault.
func (e *GzipError) ClientError() bool { return true }
