package convert

import (
	"errors"
	"slices"
	"strconv"
)

// appendNumber appends the shortest text that is x and no other float32.
func appendNumber(b []byte, x float32) []byte {
	return strconv.AppendFloat(b, float64(x), 'g', -1, 32)
}

// appendNumbers appends numbers with commas between them.
func appendNumbers(b []byte, numbers []float32) []byte {
	for i, x := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, x)
	}
	return b
}

// A csvWriter writes the label, then the features.
type csvWriter struct {
	text
	shape shape
}

func (w *csvWriter) Write(row Row) error {
	values, err := w.shape.dense(row)
	if err == nil {
		err = errors.Join(w.check(row.Label), w.check(values))
	}
	if err != nil {
		return err
	}
	w.line = appendNumbers(w.line, row.Label)
	if len(row.Label) > 0 {
		w.line = append(w.line, ',')
	}
	w.line = appendNumbers(w.line, values)
	return w.flushLine()
}

// A libsvmWriter writes the pairs in ascending order, which some readers need.
type libsvmWriter struct {
	text
	first int64 // the index of column 0
	order []int
}

func (w *libsvmWriter) Write(row Row) error {
	if err := errors.Join(w.check(row.Label), w.check(row.Values)); err != nil {
		return err
	}
	if row.Keys != nil && len(row.Keys) != len(row.Values) {
		return errorf("%d keys for %d values", len(row.Keys), len(row.Values))
	}
	if len(row.Label) == 0 {
		w.line = append(w.line, '0')
	}
	w.line = appendNumbers(w.line, row.Label)
	if row.Keys == nil {
		for j, x := range row.Values {
			if x != 0 {
				w.pair(int64(j), x)
			}
		}
		return w.flushLine()
	}
	if slices.IsSorted(row.Keys) {
		for i, key := range row.Keys {
			w.pair(int64(key), row.Values[i])
		}
		return w.flushLine()
	}
	w.order = w.order[:0]
	for i := range row.Keys {
		w.order = append(w.order, i)
	}
	slices.SortFunc(w.order, func(i, j int) int { return int(row.Keys[i]) - int(row.Keys[j]) })
	for _, i := range w.order {
		w.pair(int64(row.Keys[i]), row.Values[i])
	}
	return w.flushLine()
}

func (w *libsvmWriter) pair(key int64, x float32) {
	w.line = append(w.line, ' ')
	w.line = strconv.AppendInt(w.line, key+w.first, 10)
	w.line = append(w.line, ':')
	w.line = appendNumber(w.line, x)
}

// A jsonWriter writes the forms that the built-in algorithms take.
type jsonWriter struct {
	text
	shape shape
}

func (w *jsonWriter) Write(row Row) error {
	if err := errors.Join(w.shape.check(row), w.check(row.Label), w.check(row.Values)); err != nil {
		return err
	}
	if row.Keys == nil {
		w.line = append(w.line, `{"features":[`...)
		w.line = append(appendNumbers(w.line, row.Values), ']')
	} else {
		w.line = append(w.line, `{"data":{"features":{"keys":[`...)
		for i, key := range row.Keys {
			if i > 0 {
				w.line = append(w.line, ',')
			}
			w.line = strconv.AppendInt(w.line, int64(key), 10)
		}
		if row.Columns > 0 {
			w.line = append(w.line, `],"shape":[`...)
			w.line = strconv.AppendInt(w.line, int64(row.Columns), 10)
		}
		w.line = append(w.line, `],"values":[`...)
		w.line = append(appendNumbers(w.line, row.Values), `]}}`...)
	}
	switch {
	case len(row.Label) == 1:
		w.line = append(w.line, `,"label":`...)
		w.line = appendNumber(w.line, row.Label[0])
	case len(row.Label) > 1:
		w.line = append(w.line, `,"label":[`...)
		w.line = append(appendNumbers(w.line, row.Label), ']')
	}
	w.line = append(w.line, '}')
	return w.flushLine()
}
