package convert

import (
	"fmt"
	"io"

	"github.com/algospec/algospec/internal/textrows"
	"github.com/algospec/algospec/recordio"
)

// ReadOptions are what a format does not tell about the data. The zero value takes every column as
// a feature.
type ReadOptions struct {
	LabelSize int       // CSV, NPY and dense NPZ: so many columns, the first ones, are the label
	Labels    io.Reader // a .npy that holds the labels, one or a row of them for each row; nil means none
	Columns   int       // the width of sparse rows that do not tell it, as LibSVM's never do; 0 means unknown
	FromZero  bool      // LibSVM: indices count from 0
	NonFinite bool      // CSV and LibSVM: accepts NaN and infinite numbers
	MaxLine   int       // text: the longest line accepted, in bytes; 0 means 16 MiB

	Array      string // NPZ: the name of the array; "" means the only one besides the labels, or else arr_0
	LabelArray string // NPZ: the name of the array of the labels; "" means "label", if there is one
}

// NewReader returns a Reader of the rows in src. It needs no buffering of src. Nothing is read
// before the first call of Next. It fails where the format or the options make no sense.
func NewReader(format Format, src io.Reader, opts ReadOptions) (Reader, error) {
	if opts.LabelSize < 0 || opts.Columns < 0 || opts.MaxLine < 0 {
		return nil, fmt.Errorf("convert: negative option in %+v", opts)
	}
	var r Reader
	switch format {
	case RecordIO:
		r = &recordReader{records: recordio.NewReader(src)}
	case CSV:
		text := textrows.NewCSV(src)
		text.MaxLine, text.NonFinite = opts.MaxLine, opts.NonFinite
		r = csvReader{text}
	case LibSVM:
		text := textrows.NewLibSVM(src)
		text.MaxLine, text.NonFinite, text.FromZero, text.Columns = opts.MaxLine, opts.NonFinite, opts.FromZero, opts.Columns
		r = textReader{text}
	case JSONLines:
		text := textrows.NewJSONLines(src)
		text.MaxLine = opts.MaxLine
		r = textReader{text}
	case NPY:
		r = &npyReader{array: newArray("npy", src)}
	case NPZ:
		r = &npzReader{src: src, opts: opts}
	default:
		return nil, fmt.Errorf("convert: unknown format %q", format)
	}
	if opts.Columns > 0 {
		r = Widen(r, opts.Columns)
	}
	if opts.LabelSize > 0 && (format == CSV || format == NPY || format == NPZ) {
		r = &labelled{Reader: r, size: opts.LabelSize}
	}
	if opts.Labels != nil {
		r = &labelledBeside{Reader: r, labels: &npyReader{array: newArray("labels", opts.Labels)}}
	}
	return r, nil
}

type csvReader struct{ text *textrows.CSV }

func (r csvReader) Next() (Row, error) {
	values, err := r.text.Next()
	return Row{Columns: len(values), Values: values}, err
}

type textReader struct {
	text interface{ Next() (textrows.Row, error) }
}

func (r textReader) Next() (Row, error) {
	row, err := r.text.Next()
	return row, err
}

type recordReader struct {
	records *recordio.Reader
	decoder recordio.RowDecoder
}

func (r *recordReader) Next() (Row, error) {
	payload, err := r.records.Next()
	if err != nil {
		return Row{}, err
	}
	row, err := r.decoder.DecodeSparse(payload)
	if err != nil {
		return Row{}, r.records.At(err)
	}
	return row, nil
}

// Widen returns the rows of src, of which those sparse ones that do not tell their width are so many
// columns wide. A key past that is an error.
func Widen(src Reader, columns int) Reader { return &widened{Reader: src, columns: columns} }

// widened tells sparse rows their width.
type widened struct {
	Reader
	columns int
	row     int64
}

func (r *widened) Next() (Row, error) {
	row, err := r.Reader.Next()
	if err != nil {
		return row, err
	}
	if row.Keys != nil && row.Columns == 0 {
		row.Columns = r.columns
		for _, key := range row.Keys {
			if int(key) >= r.columns {
				return Row{}, &Error{Place: fmt.Sprintf("row %d", r.row), Err: fmt.Errorf("key %d in a row of %d features", key, r.columns)}
			}
		}
	}
	r.row++
	return row, nil
}

// labelled takes the label from the first columns of dense rows.
type labelled struct {
	Reader
	size int
}

func (r *labelled) Next() (Row, error) {
	row, err := r.Reader.Next()
	if err != nil || row.Keys != nil {
		return row, err
	}
	if len(row.Values) <= r.size {
		return Row{}, errorf("%d columns, of which %d should be the label, leave no features", len(row.Values), r.size)
	}
	row.Label = row.Values[:r.size:r.size]
	row.Values = row.Values[r.size:]
	row.Columns = len(row.Values)
	return row, nil
}

// labelledBeside takes the labels from an array of their own, with a row for each row.
type labelledBeside struct {
	Reader
	labels Reader
}

func (r *labelledBeside) Next() (Row, error) {
	row, err := r.Reader.Next()
	if err != nil && err != io.EOF {
		return row, err
	}
	label, labelErr := r.labels.Next()
	switch {
	case labelErr != nil && labelErr != io.EOF:
		return Row{}, labelErr
	case err == nil && labelErr == io.EOF:
		return Row{}, errorf("labels: fewer than rows")
	case err == io.EOF && labelErr == nil:
		return Row{}, errorf("labels: more than rows")
	}
	row.Label = label.Values
	return row, err
}
