package textrows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
)

// A JSONLines reads one JSON object a line, in the forms that the built-in algorithms take:
//
//	{"features": [1.5, 16]}
//	{"data": {"features": {"values": [1.5, 16]}}}
//	{"data": {"features": {"keys": [26, 182], "shape": [2000], "values": [1, 4]}}}
//
// Each may have a "label" beside "features" or "data": a number or an array of numbers. Other
// members are ignored. Keys stand in any order, each once. Set the fields before the first call of
// Next.
type JSONLines struct {
	MaxLine int // longest line accepted, in bytes; 0 means DefaultMaxLine

	lines  lines
	object jsonRow
	keys   []int32
	sorted []int32
	err    error // sticky
}

// NewJSONLines returns a JSONLines of the text in src.
func NewJSONLines(src io.Reader) *JSONLines {
	return &JSONLines{lines: lines{src: src}, keys: []int32{}}
}

// Next returns the next row, valid until the following call. It is sparse where the object has
// keys, or a shape and no values. Columns is 0 where it is sparse and has no shape.
func (j *JSONLines) Next() (Row, error) {
	if j.err != nil {
		return Row{}, j.err
	}
	line, err := j.lines.next(j.MaxLine)
	if err != nil {
		j.err = err
		return Row{}, err
	}
	row, err := j.parse(line)
	if err != nil {
		j.err = j.lines.fail(0, err)
		return Row{}, j.err
	}
	return row, nil
}

// All yields the remaining rows, each valid during its step. An error is yielded last, once.
func (j *JSONLines) All() iter.Seq2[Row, error] { return all(j.Next) }

// Line returns the number of the line, from 1, that Next returned last.
func (j *JSONLines) Line() int64 { return j.lines.number }

// At places err, which concerns the line that Next returned last, in the text.
func (j *JSONLines) At(err error) error { return j.lines.fail(0, err) }

// Offset returns how many bytes of the text the lines returned so far take.
func (j *JSONLines) Offset() int64 { return j.lines.offset }

// jsonRow is both forms of an object.
type jsonRow struct {
	Features numbers `json:"features"`
	Label    numbers `json:"label"`
	Data     struct {
		Features struct {
			Values numbers `json:"values"`
			Keys   indices `json:"keys"`
			Shape  indices `json:"shape"`
		} `json:"features"`
	} `json:"data"`
}

func (j *JSONLines) parse(line []byte) (Row, error) {
	o := &j.object
	tensor := &o.Data.Features
	for _, n := range []*numbers{&o.Features, &o.Label, &tensor.Values} {
		n.reset()
	}
	tensor.Keys.reset()
	tensor.Shape.reset()
	if err := json.Unmarshal(line, o); err != nil {
		return Row{}, err
	}
	row := Row{Values: o.Features.list, Label: o.Label.list}
	if o.Features.present {
		if tensor.Values.present || tensor.Keys.present {
			return Row{}, errors.New("features twice")
		}
		row.Columns = len(row.Values)
		return row, nil
	}
	if !tensor.Values.present && !tensor.Shape.present {
		return Row{}, errors.New(`no "features"`)
	}
	return j.tensor(row)
}

// tensor completes the row from the second form of an object.
func (j *JSONLines) tensor(row Row) (Row, error) {
	t := &j.object.Data.Features
	row.Values = t.Values.list
	limit := uint64(math.MaxInt32)
	if t.Shape.present {
		columns, err := t.Shape.product()
		if err != nil {
			return Row{}, err
		}
		row.Columns, limit = int(columns), columns
	}
	if !t.Keys.present && len(row.Values) > 0 || !t.Shape.present && !t.Keys.present {
		if t.Shape.present && len(row.Values) != row.Columns {
			return Row{}, fmt.Errorf("%d values in a shape of %d", len(row.Values), row.Columns)
		}
		row.Columns = len(row.Values)
		return row, nil
	}
	if len(t.Keys.list) != len(row.Values) {
		return Row{}, fmt.Errorf("%d keys for %d values", len(t.Keys.list), len(row.Values))
	}
	j.keys = j.keys[:0]
	for _, key := range t.Keys.list {
		if key >= limit {
			return Row{}, fmt.Errorf("key %d in a row of %d features", key, limit)
		}
		j.keys = append(j.keys, int32(key))
	}
	row.Keys = j.keys
	j.sorted = append(j.sorted[:0], j.keys...)
	slices.Sort(j.sorted)
	for i := 1; i < len(j.sorted); i++ {
		if j.sorted[i] == j.sorted[i-1] {
			return Row{}, fmt.Errorf("key %d twice", j.sorted[i])
		}
	}
	return row, nil
}

// numbers is a JSON array of numbers, or a number.
type numbers struct {
	list    []float32
	present bool
}

func (n *numbers) reset() { n.list, n.present = n.list[:0], false }

// UnmarshalJSON is given well-formed JSON.
func (n *numbers) UnmarshalJSON(text []byte) error {
	n.reset()
	n.present = true
	return eachElement(text, func(element []byte) error {
		x, err := number(element, false)
		n.list = append(n.list, x)
		return err
	})
}

// indices is a JSON array of whole numbers.
type indices struct {
	list    []uint64
	present bool
}

func (n *indices) reset() { n.list, n.present = n.list[:0], false }

// UnmarshalJSON is given well-formed JSON.
func (n *indices) UnmarshalJSON(text []byte) error {
	n.reset()
	n.present = true
	return eachElement(text, func(element []byte) error {
		x, err := strconv.ParseUint(string(element), 10, 64)
		if err != nil {
			return quoted(element, errors.New("not a whole number from 0"))
		}
		n.list = append(n.list, x)
		return nil
	})
}

// product returns the number of columns that the list, as a shape, means.
func (n *indices) product() (uint64, error) {
	product := uint64(1)
	for _, extent := range n.list {
		if extent > math.MaxInt32 || product*extent > math.MaxInt32 {
			return 0, errors.New("the shape is too large")
		}
		product *= extent
	}
	return product, nil
}

// eachElement calls do with each element of an array, or with what is not an array.
func eachElement(text []byte, do func([]byte) error) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '[' {
		return do(text)
	}
	text = bytes.TrimSpace(text[1 : len(text)-1])
	for more := len(text) > 0; more; {
		var element []byte
		element, text, more = bytes.Cut(text, []byte(","))
		if err := do(bytes.TrimSpace(element)); err != nil {
			return err
		}
	}
	return nil
}
