package recordio

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/recordio/recordpb"
)

// defaultName is the name of the only feature and the only label of a row, by convention.
const defaultName = "values"

// A Row is a row of a table, sparse or dense, with its label.
type Row struct {
	Columns int       // the width of the row; 0 where a sparse row does not tell
	Keys    []int32   // the columns of Values, from 0, each once, in no order; nil for a dense row
	Values  []float32 // all of a dense row, the stored ones of a sparse row
	Label   []float32 // none where the row has none
}

// A RowDecoder decodes Records that are rows of a table: one numeric feature, sparse or dense,
// and a numeric label or none. Every numeric type is converted to float32. It allocates nothing
// for records that resemble the one before. The zero value is ready for use; it must not be used
// by several goroutines at once.
type RowDecoder struct {
	Feature string // name of the feature that is the row; "" means "values"

	layout layout
	label  []float32
	keys   []int32 // of a sparse row
	sorted []int32
	values []float32
	record recordpb.Record
	value  []byte
}

// MaxSparseWidth is the widest sparse row that is made dense: its width is a mere number in the
// record, and must not cost memory that the data do not justify.
const MaxSparseWidth = 1 << 24

// Decode decodes the row of a Record into row, whose length is the number of columns expected.
// Columns that a sparse row leaves out become 0. It returns the label's values, valid until the
// next call; none when the record has no label. After an error, row holds anything.
//
// A Record that is malformed or does not fit is an error: a row of another width, a key past the
// row or twice in it, as many keys as values, a shape that is not the row's, a float64 too large
// for float32.
func (d *RowDecoder) Decode(payload []byte, row []float32) (label []float32, err error) {
	if d.layout.matches(payload, len(row)) {
		d.label, err = d.layout.read(payload, row, d.label[:0])
		return d.label, err
	}
	tensors, err := d.find(payload)
	if err != nil {
		return nil, err
	}
	if err := d.fill(row, tensors.feature); err != nil {
		return nil, err
	}
	return d.decodeLabel(tensors.label)
}

func (d *RowDecoder) decodeLabel(t tensor) (label []float32, err error) {
	if t.keys != nil {
		return nil, errors.New("the label is sparse")
	}
	if !validVarints(t.shape) {
		return nil, errMalformed
	}
	d.label, err = t.appendValues(d.label[:0])
	return d.label, err
}

// find returns the tensors of the payload. It learns the layout of a record for the next.
func (d *RowDecoder) find(payload []byte) (rowTensors, error) {
	if tensors, ok := walk(payload, d.feature()); ok {
		d.layout.learn(payload, tensors)
		return tensors, nil
	}
	return d.decodeOdd(payload)
}

// Width returns how many columns the row of a Record has. It is an error where the record does
// not tell, a sparse row without a shape, and where it is sparse and wider than MaxSparseWidth.
func (d *RowDecoder) Width(payload []byte) (int, error) {
	tensors, err := d.find(payload)
	if err != nil {
		return 0, err
	}
	return tensors.feature.width()
}

func (d *RowDecoder) feature() string {
	if d.Feature == "" {
		return defaultName
	}
	return d.Feature
}

// decodeOdd is the road of records that walk does not know: the generated code, which knows
// every encoding, decodes them and brings the two values into the form that walk knows.
func (d *RowDecoder) decodeOdd(payload []byte) (rowTensors, error) {
	var t rowTensors
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(payload, &d.record); err != nil {
		return t, fmt.Errorf("not a Record: %w", err)
	}
	features := d.record.GetFeatures()
	value, ok := features[d.feature()]
	if !ok {
		return t, fmt.Errorf("no feature named %q%s", d.feature(), others(features))
	}
	d.value = d.value[:0]
	var err error
	if t.feature, err = d.canonical(value); err != nil {
		return t, fmt.Errorf("feature %q %w", d.feature(), err)
	}
	if label, ok := d.record.GetLabel()[defaultName]; ok {
		if t.label, err = d.canonical(label); err != nil {
			return t, fmt.Errorf("label %q %w", defaultName, err)
		}
	}
	return t, nil
}

// canonical returns the tensor of a value that was decoded.
func (d *RowDecoder) canonical(value *recordpb.Value) (tensor, error) {
	switch value.GetValue().(type) {
	case nil:
		return tensor{}, errors.New("has no value")
	case *recordpb.Value_Bytes:
		return tensor{}, errors.New("is bytes, not numbers")
	}
	begin := len(d.value)
	encoded, err := proto.MarshalOptions{}.MarshalAppend(d.value, value)
	if err != nil {
		return tensor{}, err
	}
	d.value = encoded
	t, ok := walkValue(encoded[begin:])
	if !ok {
		return tensor{}, errors.New("does not survive being encoded again")
	}
	return t, nil
}

func others(features map[string]*recordpb.Value) string {
	if len(features) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(features))
	return fmt.Sprintf(" (there is %.200q)", strings.Join(names, ", "))
}

// fill writes the tensor into row.
func (d *RowDecoder) fill(row []float32, t tensor) error {
	if len(t.shape) > 0 {
		if columns, err := t.columns(); err != nil || columns != uint64(len(row)) {
			return errors.Join(err, widthError(columns, len(row)))
		}
	}
	count := t.count()
	switch {
	case t.keys != nil:
		return d.scatter(row, t, count)
	case count == len(row):
		_, err := t.appendValues(row[:0])
		return err
	case count == 0 && len(t.shape) > 0:
		clear(row) // a sparse row of zeros only
		return nil
	case len(t.shape) > 0:
		return fmt.Errorf("%d values in a shape of %d", count, len(row))
	}
	return widthError(uint64(count), len(row))
}

func widthError(got uint64, want int) error {
	if got == uint64(want) {
		return nil
	}
	return fmt.Errorf("%d features, want %d", got, want)
}

// scatter writes the count values of a sparse row to their keys.
func (d *RowDecoder) scatter(row []float32, t tensor, count int) error {
	if err := d.decodeSparse(t, count, len(row)); err != nil {
		return err
	}
	clear(row)
	for i, key := range d.keys {
		row[key] = d.values[i]
	}
	return nil
}

// width returns how many columns the tensor, as a row, has.
func (t tensor) width() (int, error) {
	switch {
	case len(t.shape) > 0:
		columns, err := t.columns()
		if err == nil && columns > MaxSparseWidth && uint64(t.count()) < columns {
			err = fmt.Errorf("a sparse row of %d features is too wide to be made dense", columns)
		}
		return int(columns), err
	case t.keys != nil:
		return 0, errors.New("a sparse row without a shape does not tell how many features there are")
	}
	return t.count(), nil
}

// columns returns the product of the shape.
func (t tensor) columns() (uint64, error) {
	product := uint64(1)
	for rest := t.shape; len(rest) > 0; {
		extent, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return 0, fmt.Errorf("not a Record: %w", protowire.ParseError(n))
		}
		rest = rest[n:]
		if extent != 0 && product > math.MaxUint64/extent {
			return 0, errors.New("the shape overflows")
		}
		product *= extent
	}
	return product, nil
}
