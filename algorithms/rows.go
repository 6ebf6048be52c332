package algorithms

import (
	"errors"
	"fmt"
	"io"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/recordio"
)

// A rowReader reads the batches of one epoch.
type rowReader struct {
	Batching
	format  format
	channel string
	epoch   int
	columns int // 0 until the first record
	labels  int // values of each label; -1 until the first record
	count   int64

	keys   []int32 // of a dense row in a sparse batch
	values []float32
}

// newRowReader returns the reader for the epoch's content type.
func newRowReader(epoch *channel.Epoch, p Batching) (*rowReader, error) {
	if p.MiniBatchSize < 1 || p.FeatureDim < 1 && p.MaxColumns < 1 {
		panic(fmt.Sprintf("algorithms: batches of %d rows of %d features", p.MiniBatchSize, p.FeatureDim))
	}
	format, err := newFormat(epoch.ContentType, epoch, p)
	return &rowReader{Batching: p, format: format, epoch: epoch.Number, labels: -1}, err
}

// read fills the batch with the next rows. It returns io.EOF where there is none.
func (r *rowReader) read(b *Batch) error {
	b.reset(r.columns, r.Sparse, r.count)
	begin := r.format.offset()
	for b.rows < r.MiniBatchSize {
		err := r.format.next()
		if err == io.EOF && b.rows > 0 && !r.DropLast {
			break
		}
		if err != nil {
			return err
		}
		if err := r.decode(b); err != nil {
			return r.format.at(err)
		}
	}
	b.LabelSize = r.labels
	b.Bytes = r.format.offset() - begin
	r.count += int64(b.rows)
	b.end = checkpoint.Position{Channel: r.channel, Epoch: r.epoch, Records: r.count, Bytes: r.format.offset()}
	return nil
}

// decode appends the current row to the batch.
func (r *rowReader) decode(b *Batch) error {
	if r.columns == 0 {
		columns, err := r.width()
		if err != nil {
			return err
		}
		r.columns = columns
		b.reset(columns, r.Sparse, r.count)
	}
	decode := r.decodeDense
	if r.Sparse {
		decode = r.decodeSparse
	}
	label, err := decode(b)
	if err != nil {
		return err
	}
	if i := notFinite(label); i >= 0 && !r.NonFinite {
		return fmt.Errorf("the label is %v", label[i])
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

func (r *rowReader) decodeDense(b *Batch) (label []float32, err error) {
	row := b.appendRow()
	if label, err = r.format.dense(row); err != nil || r.NonFinite {
		return label, err
	}
	if j := notFinite(row); j >= 0 {
		return nil, fmt.Errorf("feature %d is %v", j, row[j])
	}
	return label, nil
}

func (r *rowReader) decodeSparse(b *Batch) (label []float32, err error) {
	row, err := r.format.sparse()
	if err != nil {
		return nil, err
	}
	if row.Keys == nil {
		if len(row.Values) != r.columns {
			return nil, fmt.Errorf("%d features, want %d", len(row.Values), r.columns)
		}
		r.dropZeros(&row)
	}
	if row.Columns != 0 && row.Columns != r.columns {
		return nil, fmt.Errorf("%d features, want %d", row.Columns, r.columns)
	}
	for _, key := range row.Keys {
		if int(key) >= r.columns {
			return nil, fmt.Errorf("key %d in a row of %d features", key, r.columns)
		}
	}
	if !r.NonFinite {
		if i := notFinite(row.Values); i >= 0 {
			return nil, fmt.Errorf("feature %d is %v", row.Keys[i], row.Values[i])
		}
	}
	b.appendSparse(row.Keys, row.Values)
	return row.Label, nil
}

// dropZeros makes a dense row sparse.
func (r *rowReader) dropZeros(row *recordio.Row) {
	r.keys, r.values = r.keys[:0], r.values[:0]
	for j, x := range row.Values {
		if x != 0 {
			r.keys, r.values = append(r.keys, int32(j)), append(r.values, x)
		}
	}
	row.Keys, row.Values = r.keys, r.values
}

// width decides how many columns rows have, before memory for one is taken.
func (r *rowReader) width() (int, error) {
	found, err := r.found()
	switch {
	case r.Sparse && r.FeatureDim > 0 && r.MaxColumns == 0:
		return r.FeatureDim, nil // takes no memory
	case err != nil && r.FeatureDim > 0 && r.FeatureDim <= recordio.MaxSparseWidth:
		return r.FeatureDim, nil // what is wrong with the record, if anything, decoding it will say
	case err != nil:
		return 0, err
	case found == 0:
		return 0, errors.New("a row of 0 features")
	case found != r.FeatureDim && r.MaxColumns == 0:
		return 0, fmt.Errorf("%d features, want %d", found, r.FeatureDim)
	case r.MaxColumns > 0 && found > r.MaxColumns:
		return 0, &WidthError{found, r.MaxColumns}
	}
	return found, nil
}

// A WidthError says that rows have more columns than Batching.MaxColumns.
type WidthError struct{ Columns, Limit int }

func (e *WidthError) Error() string {
	return fmt.Sprintf("%d features, more than the %d that the algorithm takes", e.Columns, e.Limit)
}

// found returns how many columns the first record has.
func (r *rowReader) found() (int, error) {
	if !r.Sparse {
		return r.format.width()
	}
	row, err := r.format.sparse()
	if err == nil && row.Columns == 0 {
		err = errors.New("the row does not tell how many features there are")
	}
	return row.Columns, err
}
