package algorithms

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/mediatype"
	"github.com/algospec/algospec/internal/textrows"
	"github.com/algospec/algospec/recordio"
)

// A format reads the rows of a stream, one at a time.
type format interface {
	next() error                                      // goes to the next row; io.EOF at the end
	width() (int, error)                              // of this row; an error where it does not tell
	dense(dst []float32) (label []float32, err error) // decodes this row into dst
	sparse() (row recordio.Row, err error)            // decodes this row as it stands
	at(err error) error                               // places err, which concerns this row
	offset() int64                                    // where in the stream this row ends
}

// newFormat returns the format for a content type; "" is RecordIO-protobuf. These are the names
// that the built-in algorithms know (builtin-algorithms, 1.3).
func newFormat(contentType string, src io.Reader, p Batching) (format, error) {
	if contentType == "" || strings.EqualFold(contentType, "protobuf") { // which is no media type
		contentType = mediatype.RecordProtobuf
	}
	kind, parameters, err := channel.ParseContentType(contentType)
	if err != nil {
		return nil, err
	}
	switch mediatype.Canonical(kind) {
	case mediatype.RecordProtobuf:
		reader := recordio.NewReader(src)
		reader.MaxSize = p.MaxRecord
		return &recordFormat{reader: reader}, nil
	case mediatype.CSV:
		labels, err := labelSize(parameters)
		if err != nil {
			return nil, algospec.ClientErrorf("content type %q: %w", contentType, err)
		}
		csv := textrows.NewCSV(src)
		csv.NonFinite, csv.MaxLine = p.NonFinite, p.MaxRecord
		return &csvFormat{reader: csv, labels: labels}, nil
	case mediatype.LibSVM:
		libsvm := textrows.NewLibSVM(src)
		libsvm.NonFinite, libsvm.MaxLine = p.NonFinite, p.MaxRecord
		return &textFormat{reader: libsvm}, nil
	case mediatype.JSONLines:
		lines := textrows.NewJSONLines(src)
		lines.MaxLine = p.MaxRecord
		return &textFormat{reader: lines}, nil
	case mediatype.RecordIO:
		return nil, algospec.ClientErrorf("content type %q holds records of bytes, not rows; algorithms.Records reads them", contentType)
	}
	return nil, algospec.ClientErrorf("content type %q is not supported; application/x-recordio-protobuf, text/csv, text/libsvm and application/jsonlines are", contentType)
}

// labelSize returns how many columns of a CSV file are labels: one, unless label_size says
// otherwise. Unsupervised data need label_size=0.
func labelSize(parameters map[string]string) (int, error) {
	text, ok := parameters["label_size"]
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("label_size %q is no number of columns", text)
	}
	return n, nil
}

// recordFormat is RecordIO-protobuf.
type recordFormat struct {
	reader  *recordio.Reader
	decoder recordio.RowDecoder
	payload []byte
}

func (f *recordFormat) next() (err error) {
	f.payload, err = f.reader.Next()
	return err
}

func (f *recordFormat) width() (int, error) { return f.decoder.Width(f.payload) }

func (f *recordFormat) dense(dst []float32) ([]float32, error) {
	return f.decoder.Decode(f.payload, dst)
}

func (f *recordFormat) sparse() (recordio.Row, error) {
	return f.decoder.DecodeSparse(f.payload)
}

func (f *recordFormat) at(err error) error { return f.reader.At(err) }
func (f *recordFormat) offset() int64      { return f.reader.Offset() }

// csvFormat is CSV, the labels first.
type csvFormat struct {
	reader *textrows.CSV
	labels int
	row    []float32
}

func (f *csvFormat) next() (err error) {
	f.row, err = f.reader.Next()
	if err == nil && len(f.row) < f.labels {
		err = f.at(fmt.Errorf("%d columns, of which %d are labels", len(f.row), f.labels))
	}
	return err
}

func (f *csvFormat) width() (int, error) { return len(f.row) - f.labels, nil }

func (f *csvFormat) dense(dst []float32) ([]float32, error) {
	features := f.row[f.labels:]
	if len(features) != len(dst) {
		return nil, fmt.Errorf("%d features, want %d", len(features), len(dst))
	}
	copy(dst, features)
	return f.row[:f.labels], nil
}

func (f *csvFormat) sparse() (recordio.Row, error) {
	features := f.row[f.labels:]
	return recordio.Row{Columns: len(features), Values: features, Label: f.row[:f.labels]}, nil
}

func (f *csvFormat) at(err error) error { return f.reader.At(err) }
func (f *csvFormat) offset() int64      { return f.reader.Offset() }

// textFormat is LibSVM or JSON lines, whose rows may be sparse.
type textFormat struct {
	reader interface {
		Next() (textrows.Row, error)
		At(error) error
		Offset() int64
	}
	row textrows.Row
}

func (f *textFormat) next() (err error) {
	f.row, err = f.reader.Next()
	return err
}

func (f *textFormat) width() (int, error) {
	switch {
	case f.row.Keys == nil:
	case f.row.Columns == 0:
		return 0, errors.New("a sparse row does not tell how many features there are")
	case f.row.Columns > recordio.MaxSparseWidth:
		return 0, fmt.Errorf("a sparse row of %d features is too wide to be made dense", f.row.Columns)
	}
	return f.row.Columns, nil
}

func (f *textFormat) dense(dst []float32) ([]float32, error) {
	if f.row.Columns != 0 && f.row.Columns != len(dst) || f.row.Keys == nil && len(f.row.Values) != len(dst) {
		return nil, fmt.Errorf("%d features, want %d", f.row.Columns, len(dst))
	}
	if f.row.Keys == nil {
		copy(dst, f.row.Values)
		return f.row.Label, nil
	}
	clear(dst)
	for i, key := range f.row.Keys {
		if int(key) >= len(dst) {
			return nil, fmt.Errorf("key %d in a row of %d features", key, len(dst))
		}
		dst[key] = f.row.Values[i]
	}
	return f.row.Label, nil
}

func (f *textFormat) sparse() (recordio.Row, error) { return f.row, nil }
func (f *textFormat) at(err error) error            { return f.reader.At(err) }
func (f *textFormat) offset() int64                 { return f.reader.Offset() }
