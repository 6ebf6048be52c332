package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/algospec/algospec/recordio"
)

// WriteOptions are how rows are written. The zero value is right where the destination is a file.
type WriteOptions struct {
	Rows      int64     // NPY: how many rows there will be; 0 means unknown: the destination must be an io.Seeker if there are any
	Labels    io.Writer // NPY: gets the labels, a .npy too; nil means that they become the first columns
	FromZero  bool      // LibSVM: indices count from 0
	NonFinite bool      // CSV and LibSVM: writes NaN and infinite numbers, which are an error otherwise
}

// NewWriter returns a Writer of rows to dst, which it buffers. It fails where the format or the
// options make no sense.
//
// CSV, NPY and a dense NPZ hold rows of one width, sparse ones made dense, and a label of one size
// in front of them (in a NPZ it is an array of its own, "label"). The first row decides whether a
// NPZ is dense. RecordIO and JSON lines hold rows of one width, as far as sparse ones tell it, and
// labels of one size, too. LibSVM leaves zeros out of dense rows, and has the label 0 where there is none.
// JSON has no NaN.
func NewWriter(format Format, dst io.Writer, opts WriteOptions) (Writer, error) {
	if opts.Rows < 0 {
		return nil, fmt.Errorf("convert: %d rows", opts.Rows)
	}
	switch format {
	case RecordIO:
		return &recordWriter{records: recordio.NewWriter(dst), shape: new(shape)}, nil
	case CSV:
		return &csvWriter{text: newText(dst, opts)}, nil
	case LibSVM:
		first := int64(1)
		if opts.FromZero {
			first = 0
		}
		return &libsvmWriter{text: newText(dst, opts), first: first}, nil
	case JSONLines:
		opts.NonFinite = false
		return &jsonWriter{text: newText(dst, opts)}, nil
	case NPY:
		return newNPYWriter(dst, opts)
	case NPZ:
		return &npzWriter{dst: dst}, nil
	}
	return nil, fmt.Errorf("convert: unknown format %q", format)
}

type recordWriter struct {
	records *recordio.Writer
	shape   *shape
}

func (w *recordWriter) Write(row Row) error {
	if row.Keys != nil && row.Columns == 0 {
		return ErrNoWidth
	}
	if err := w.shape.check(row); err != nil {
		return err
	}
	if row.Keys == nil {
		return w.records.WriteRow(row.Values, row.Label...)
	}
	return w.records.WriteSparseRow(row.Columns, row.Keys, row.Values, row.Label...)
}

func (w *recordWriter) Close() error { return w.records.Flush() }

// ErrNoWidth is the error of a Writer for a sparse row that does not tell its width, where that is
// needed. ReadOptions.Columns and Widen tell it.
var ErrNoWidth error = &Error{Err: errors.New("a sparse row does not tell its width, which the output needs")}

// A shape holds rows to the width and the label size of the first one.
type shape struct {
	columns, labels int
	set             bool // labels is known
	wide            bool // columns is known
	row             []float32
}

// check holds the row to what is known so far. A sparse row need not tell its width.
func (s *shape) check(row Row) error {
	columns, wide := row.Columns, row.Columns > 0
	if row.Keys == nil {
		columns, wide = len(row.Values), true
	}
	switch {
	case !wide:
	case !s.wide:
		s.columns, s.wide = columns, true
	case columns != s.columns:
		return errorf("%d features, want %d as in the first row", columns, s.columns)
	}
	if !s.set {
		s.labels, s.set = len(row.Label), true
	}
	return s.checkLabel(row)
}

// dense returns the row's values, made dense, valid until the next call.
func (s *shape) dense(row Row) ([]float32, error) {
	columns := len(row.Values)
	if row.Keys != nil {
		columns = row.Columns
	}
	switch {
	case columns == 0 && row.Keys != nil:
		return nil, ErrNoWidth
	case columns == 0:
		return nil, errorf("a row of no features")
	case row.Keys != nil && columns > recordio.MaxSparseWidth:
		return nil, errorf("a sparse row of %d features is too wide to be made dense", columns)
	}
	if err := s.check(row); err != nil || row.Keys == nil {
		return row.Values, err
	}
	if len(row.Keys) != len(row.Values) {
		return nil, errorf("%d keys for %d values", len(row.Keys), len(row.Values))
	}
	if len(s.row) < columns {
		s.row = make([]float32, columns)
	}
	clear(s.row)
	for i, key := range row.Keys {
		if key < 0 || int(key) >= columns {
			return nil, errorf("key %d in a row of %d features", key, columns)
		}
		s.row[key] = row.Values[i]
	}
	return s.row[:columns], nil
}

func (s *shape) checkLabel(row Row) error {
	if len(row.Label) != s.labels {
		return errorf("a label of %d values, want %d as in the first row", len(row.Label), s.labels)
	}
	return nil
}

// text is what the writers of text share.
type text struct {
	dst  *bufio.Writer
	opts WriteOptions
	line []byte
}

func newText(dst io.Writer, opts WriteOptions) text {
	return text{dst: bufio.NewWriterSize(dst, chunk), opts: opts}
}

func (t *text) flushLine() error {
	t.line = append(t.line, '\n')
	_, err := t.dst.Write(t.line)
	t.line = t.line[:0]
	return err
}

func (t *text) Close() error { return t.dst.Flush() }

// check refuses numbers that the format, or its readers, do not have.
func (t *text) check(numbers []float32) error {
	if t.opts.NonFinite {
		return nil
	}
	for i, x := range numbers {
		if !isFinite(x) {
			return errorf("number %d is %v", i, x)
		}
	}
	return nil
}
