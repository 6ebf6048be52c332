package recordio

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// DecodeSparse decodes the row of a Record without making it dense. The result is valid until the
// next call. Malformed and ill-fitting Records are errors as for Decode; so is a column past 2^31.
// A row that has a shape and neither keys nor values is a sparse row of zeros.
func (d *RowDecoder) DecodeSparse(payload []byte) (Row, error) {
	tensors, err := d.find(payload)
	if err != nil {
		return Row{}, err
	}
	t := tensors.feature
	columns, err := t.columns()
	if err != nil {
		return Row{}, err
	}
	if columns > math.MaxInt32 {
		return Row{}, fmt.Errorf("a row of %d features", columns)
	}
	row := Row{Columns: int(columns)}
	if len(t.shape) == 0 {
		row.Columns = 0
	}
	switch count := t.count(); {
	case t.keys != nil:
		limit := row.Columns
		if len(t.shape) == 0 {
			limit = math.MaxInt32
		}
		if err := d.decodeSparse(t, count, limit); err != nil {
			return Row{}, err
		}
		row.Keys = d.keys
	case count == 0 && len(t.shape) > 0:
		d.keys, d.values = d.keys[:0], d.values[:0]
		if d.keys == nil {
			d.keys = []int32{}
		}
		row.Keys = d.keys
	case len(t.shape) > 0 && count != row.Columns:
		return Row{}, fmt.Errorf("%d values in a shape of %d", count, row.Columns)
	default:
		row.Columns = count
		if d.values, err = t.appendValues(d.values[:0]); err != nil {
			return Row{}, err
		}
	}
	row.Values = d.values
	row.Label, err = d.decodeLabel(tensors.label)
	return row, err
}

// decodeSparse decodes count values and their keys, of a row of so many columns, into d.
func (d *RowDecoder) decodeSparse(t tensor, count, columns int) (err error) {
	if keys := countVarints(t.keys); keys != count {
		return fmt.Errorf("%d keys for %d values", keys, count)
	}
	if d.values, err = t.appendValues(d.values[:0]); err != nil {
		return err
	}
	d.keys = d.keys[:0]
	ascending, last := true, int32(-1)
	for rest := t.keys; len(rest) > 0; {
		key, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return errMalformed
		}
		rest = rest[n:]
		if key >= uint64(columns) {
			return fmt.Errorf("key %d in a row of %d features", key, columns)
		}
		ascending = ascending && int32(key) > last
		last = int32(key)
		d.keys = append(d.keys, last)
	}
	if !ascending {
		return d.checkDistinct()
	}
	return nil
}

func (d *RowDecoder) checkDistinct() error {
	d.sorted = append(d.sorted[:0], d.keys...)
	slices.Sort(d.sorted)
	for i := 1; i < len(d.sorted); i++ {
		if d.sorted[i] == d.sorted[i-1] {
			return fmt.Errorf("key %d twice", d.sorted[i])
		}
	}
	return nil
}

// WriteSparseRow writes a sparse float32 row of so many columns: values[i] stands in column
// keys[i]. The label is as for WriteRow. The bytes are those that the SageMaker Python SDK writes.
func (w *Writer) WriteSparseRow(columns int, keys []int32, values []float32, label ...float32) error {
	if len(keys) != len(values) {
		return fmt.Errorf("recordio: %d keys for %d values", len(keys), len(values))
	}
	if columns < 0 {
		return errors.New("recordio: a negative number of columns")
	}
	for _, key := range keys {
		if key < 0 || int(key) >= columns {
			return fmt.Errorf("recordio: key %d in a row of %d features", key, columns)
		}
	}
	w.payload = appendEntry(w.payload[:0], recordFeatures, tensorFields{values: values, keys: keys, shape: columns, sparse: true})
	if len(label) > 0 {
		w.payload = appendEntry(w.payload, recordLabel, tensorFields{values: label})
	}
	return w.Write(w.payload)
}
