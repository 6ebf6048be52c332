package s3stream

import (
	"fmt"
	"io"

	"github.com/algospec/algospec/recordio"
)

// wrapped makes a RecordIO record of each item: RecordWrapperType. A record
// longer than the limit comes in parts, cut anywhere (container contract, 5.2,
// the plain dialect).
type wrapped struct {
	stream // whose items have a size
	opts   Options

	size, left int64  // of the item
	part       int64  // left of the part
	padding    int    // after it
	rest       []byte // of a chunk
	head       bool   // the header of a part is due
	scratch    []byte
}

func (w *wrapped) item() (heading, error) {
	h, err := w.stream.item()
	if err != nil {
		return h, err
	}
	if h.size == unknown { // it could not even be asked for
		_, err := w.stream.chunk()
		return h, err
	}
	w.size, w.left, w.rest, w.head = h.size, h.size, nil, true
	h.size = unknown // not worth computing
	return h, nil
}

func (w *wrapped) chunk() ([]byte, error) {
	switch {
	case w.head:
		return w.header(), nil
	case w.part > 0:
		return w.payload()
	case w.padding > 0:
		n := w.padding
		w.padding = 0
		return []byte{0, 0, 0}[:n], nil
	case w.left > 0:
		return w.header(), nil
	}
	return nil, w.end()
}

// header begins the next part.
func (w *wrapped) header() []byte {
	limit := int64(recordio.MaxPart)
	if w.opts.MaxRecord > 0 {
		limit = min(limit, int64(w.opts.MaxRecord))
	}
	first := w.left == w.size
	w.part = min(w.left, limit)
	w.left -= w.part
	w.padding = int(-w.part & 3)
	w.head = false
	w.scratch = recordio.AppendHeader(w.scratch[:0], first, w.left == 0, int(w.part))
	return w.scratch
}

// payload returns the next bytes of the part.
func (w *wrapped) payload() ([]byte, error) {
	if len(w.rest) == 0 {
		chunk, err := w.stream.chunk()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		w.rest = chunk
	}
	n := min(int64(len(w.rest)), w.part)
	chunk := w.rest[:n]
	w.rest, w.part = w.rest[n:], w.part-n
	return chunk, nil
}

// end sees to it that the item ends where its record does.
func (w *wrapped) end() error {
	if len(w.rest) == 0 {
		chunk, err := w.stream.chunk()
		if err != nil {
			return err
		}
		w.rest = chunk
	}
	return fmt.Errorf("an item of %d bytes goes on", w.size)
}

// Close closes what is wrapped.
func (w *wrapped) Close() error { return closeStream(w.stream) }
