package convert

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// An npyWriter writes a matrix of float32 as numpy.save does. The header has the number of rows:
// where it is not known, the header is written again at the end.
type npyWriter struct {
	dst    *bufio.Writer
	seeker io.WriteSeeker // nil where the number of rows is known
	noSeek error          // why there must be no rows
	begin  int64          // of the array in seeker
	rows   int64          // so far
	want   int64          // where seeker is nil
	shape  shape
	labels *npyWriter // nil where labels are columns
	vector bool       // rows of one column are the elements of a vector
	buf    []byte
}

func newNPYWriter(dst io.Writer, opts WriteOptions) (*npyWriter, error) {
	w := &npyWriter{dst: bufio.NewWriterSize(dst, chunk), want: opts.Rows}
	if opts.Rows == 0 {
		seeker, ok := dst.(io.WriteSeeker)
		err := errors.New("it is no io.Seeker")
		if ok {
			w.begin, err = seeker.Seek(0, io.SeekCurrent)
		}
		if err != nil {
			w.noSeek = fmt.Errorf("convert: a .npy begins with its number of rows, which must be given where the destination cannot seek: %w", err)
		} else {
			w.seeker = seeker
		}
	}
	if opts.Labels != nil {
		labels, err := newNPYWriter(opts.Labels, WriteOptions{Rows: opts.Rows})
		if err != nil {
			return nil, err
		}
		labels.vector = true
		w.labels = labels
	}
	return w, nil
}

func (w *npyWriter) Write(row Row) error {
	if w.noSeek != nil {
		return w.noSeek
	}
	if w.seeker == nil && w.rows == w.want {
		return fmt.Errorf("npy: more than the %d rows announced", w.want)
	}
	values, err := w.shape.dense(row)
	if err != nil {
		return err
	}
	if w.rows == 0 {
		if err := w.writeHeader(w.want); err != nil {
			return err
		}
	}
	w.rows++
	w.buf = w.buf[:0]
	switch {
	case w.labels == nil:
		w.buf = appendFloat32s(w.buf, row.Label)
	case len(row.Label) == 0:
		return errorf("no label")
	default:
		if err := w.labels.Write(Row{Values: row.Label}); err != nil {
			return fmt.Errorf("label: %w", err)
		}
	}
	_, err = w.dst.Write(appendFloat32s(w.buf, values))
	return err
}

func (w *npyWriter) writeHeader(rows int64) error {
	extents := []int64{rows, int64(w.shape.columns)}
	if w.labels == nil {
		extents[1] += int64(w.shape.labels)
	}
	if w.vector && extents[1] == 1 {
		extents = extents[:1]
	}
	_, err := w.dst.Write(appendNPYHeader(nil, "<f4", extents...))
	return err
}

func (w *npyWriter) Close() error {
	err := w.complete()
	if w.labels != nil {
		err = errors.Join(err, w.labels.Close())
	}
	return err
}

func (w *npyWriter) complete() error {
	if w.seeker == nil && w.rows != w.want {
		return fmt.Errorf("npy: %d rows, %d were announced", w.rows, w.want)
	}
	if w.rows == 0 {
		if err := w.writeHeader(0); err != nil {
			return err
		}
	}
	if err := w.dst.Flush(); err != nil || w.seeker == nil || w.rows == 0 {
		return err
	}
	end, err := w.seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err := w.seeker.Seek(w.begin, io.SeekStart); err != nil {
		return err
	}
	if err := errors.Join(w.writeHeader(w.rows), w.dst.Flush()); err != nil {
		return err
	}
	_, err = w.seeker.Seek(end, io.SeekStart)
	return err
}

func appendFloat32s(b []byte, numbers []float32) []byte {
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}
