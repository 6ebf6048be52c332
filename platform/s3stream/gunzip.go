package s3stream

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// ErrGzip means that an object which should be gzip is not, or is damaged.
var ErrGzip = errors.New("not valid gzip")

// gunzipped decompresses each object, all members of it, and leaves text alone.
// An empty object holds nothing.
type gunzipped struct {
	stream
	object *Object // nil where the item is not compressed
	raw    chunkReader
	in     *bufio.Reader
	member gzip.Reader
	begun  bool // the member
	out    []byte
}

func newGunzipped(s stream) *gunzipped {
	g := &gunzipped{stream: s, raw: chunkReader{stream: s}, out: make([]byte, maxBlock)}
	g.in = bufio.NewReaderSize(&g.raw, 64<<10)
	return g
}

func (g *gunzipped) item() (heading, error) {
	h, err := g.stream.item()
	if g.object = h.object; g.object != nil {
		h.size = unknown
		g.begun = false
		g.raw = chunkReader{stream: g.stream}
		g.in.Reset(&g.raw)
	}
	return h, err
}

func (g *gunzipped) chunk() ([]byte, error) {
	if g.object == nil {
		return g.stream.chunk()
	}
	for {
		if !g.begun {
			if _, err := g.in.Peek(1); err != nil {
				return nil, err // io.EOF after the last member, or what keeps it from being read
			}
			if err := g.member.Reset(g.in); err != nil {
				return nil, g.damaged(err)
			}
			g.member.Multistream(false) // which would take a header that is cut off for the end
			g.begun = true
		}
		n, err := fill(&g.member, g.out)
		switch {
		case n > 0:
			return g.out[:n], nil // the error comes again
		case err != io.EOF:
			return nil, g.damaged(err)
		}
		g.begun = false
	}
}

// damaged says where decompression failed, if it was not the reading that did.
func (g *gunzipped) damaged(err error) error {
	if g.raw.err != nil && g.raw.err != io.EOF {
		return g.raw.err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	at := g.raw.taken - int64(g.in.Buffered())
	return &ObjectError{g.object.Bucket, g.object.Key, at, fmt.Errorf("%w: %w", ErrGzip, err)}
}

// A chunkReader reads the chunks of an item.
type chunkReader struct {
	stream stream
	rest   []byte
	taken  int64
	err    error
}

// Read implements io.Reader.
func (r *chunkReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		r.rest, r.err = r.stream.chunk()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest, r.taken = r.rest[n:], r.taken+int64(n)
	return n, nil
}
