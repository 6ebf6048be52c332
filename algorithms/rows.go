package algorithms

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// A rowReader reads batches from one epoch of RecordIO-protobuf.
type rowReader struct {
	Batching
	records *recordio.Reader
	decoder recordio.RowDecoder
	columns int // 0 until the first record
	labels  int // values of each label; -1 until the first record
	count   int64
}

// newRowReader returns the reader for the epoch's content type.
func newRowReader(epoch *channel.Epoch, p Batching) (*rowReader, error) {
	if p.MiniBatchSize < 1 || p.FeatureDim < 1 && !p.AnyWidth {
		panic(fmt.Sprintf("algorithms: batches of %d rows of %d features", p.MiniBatchSize, p.FeatureDim))
	}
	if epoch.ContentType != "" {
		kind, _, err := mime.ParseMediaType(epoch.ContentType)
		if err != nil || !recordTypes[kind] {
			return nil, algospec.ClientErrorf("content type %q is not supported; application/x-recordio-protobuf is", epoch.ContentType)
		}
	}
	return &rowReader{Batching: p, records: recordio.NewReader(epoch), labels: -1}, nil
}

// recordTypes are the names that the built-in algorithms have for one format.
var recordTypes = map[string]bool{
	"application/x-recordio-protobuf":       true,
	"application/x-labeled-vector-protobuf": true,
	"protobuf":                              true,
}

// read fills the batch with the next rows. It returns io.EOF where there is none.
func (r *rowReader) read(b *Batch) error {
	b.reset(r.columns, r.count)
	begin := r.records.Offset()
	for b.X.Rows < r.MiniBatchSize {
		payload, err := r.records.Next()
		if err == io.EOF && b.X.Rows > 0 {
			break
		}
		if err != nil {
			return err
		}
		if err := r.decode(payload, b); err != nil {
			return r.records.At(err)
		}
	}
	b.LabelSize = r.labels
	b.Bytes = r.records.Offset() - begin
	r.count += int64(b.X.Rows)
	return nil
}

func (r *rowReader) decode(payload []byte, b *Batch) error {
	if r.columns == 0 {
		columns, err := r.width(payload)
		if err != nil {
			return err
		}
		r.columns = columns
		b.reset(columns, r.count)
	}
	row := b.appendRow()
	label, err := r.decoder.Decode(payload, row)
	if err != nil {
		return err
	}
	if !r.NonFinite {
		if err := checkFinite(row); err != nil {
			return err
		}
	}
	if r.labels < 0 {
		r.labels = len(label)
	}
	if len(label) != r.labels {
		return fmt.Errorf("a label of %d values after labels of %d", len(label), r.labels)
	}
	b.Labels = append(b.Labels, label...)
	return nil
}

// width decides how many columns rows have, before memory for one is taken.
func (r *rowReader) width(first []byte) (int, error) {
	found, err := r.decoder.Width(first)
	switch {
	case err != nil && r.FeatureDim > 0 && r.FeatureDim <= recordio.MaxSparseWidth:
		return r.FeatureDim, nil // what is wrong with the record, if anything, decoding it will say
	case err != nil:
		return 0, err
	case found == 0:
		return 0, errors.New("a row of 0 features")
	case found != r.FeatureDim && !r.AnyWidth:
		return 0, fmt.Errorf("%d features, want %d", found, r.FeatureDim)
	}
	return found, nil
}

// checkFinite reports the first feature that is NaN or infinite.
func checkFinite(row []float32) error {
	const exponent = 0x7f800000
	for j, x := range row {
		if math.Float32bits(x)&exponent == exponent {
			return fmt.Errorf("feature %d is %v", j, x)
		}
	}
	return nil
}
