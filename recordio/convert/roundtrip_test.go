package convert_test

import (
	"bytes"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/recordio/convert"
)

// genTable draws rows of one width and label size, all sparse or all dense.
func genTable(t *rapid.T) (rows []convert.Row) {
	columns := rapid.IntRange(1, 9).Draw(t, "columns")
	labels := rapid.IntRange(0, 2).Draw(t, "labels")
	sparse := rapid.Bool().Draw(t, "sparse")
	number := rapid.OneOf(
		rapid.SampledFrom([]float32{0, 1, -2.5, 1e-45, math.MaxFloat32, -1e-38, 16777217}),
		rapid.Float32Range(-1e6, 1e6),
	)
	for range rapid.IntRange(1, 6).Draw(t, "rows") {
		row := convert.Row{Columns: columns, Label: rapid.SliceOfN(number, labels, labels).Draw(t, "label")}
		if sparse {
			row.Keys = rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(columns)-1), 0, columns, rapid.ID).Draw(t, "keys")
			if row.Keys == nil {
				row.Keys = []int32{}
			}
			row.Values = rapid.SliceOfN(number, len(row.Keys), len(row.Keys)).Draw(t, "values")
		} else {
			row.Values = rapid.SliceOfN(number, columns, columns).Draw(t, "values")
		}
		rows = append(rows, row)
	}
	return rows
}

// dense returns a row as columns, and zeros as the positive one.
func dense(row convert.Row) []float32 {
	values := make([]float32, row.Columns)
	for i, x := range row.Values {
		if row.Keys == nil {
			values[i] = x + 0
		} else {
			values[row.Keys[i]] = x + 0
		}
	}
	return values
}

func encode(t require.TestingT, format convert.Format, rows []convert.Row) []byte {
	var b buffer
	w, err := convert.NewWriter(format, &b, convert.WriteOptions{})
	require.NoError(t, err)
	for _, row := range rows {
		require.NoError(t, w.Write(row))
	}
	require.NoError(t, w.Close())
	return b.data
}

func decode(t require.TestingT, format convert.Format, data []byte, opts convert.ReadOptions) []convert.Row {
	src, err := convert.NewReader(format, bytes.NewReader(data), opts)
	require.NoError(t, err)
	rows, err := collect(src)
	require.Equal(t, io.EOF, err)
	return rows
}

// TestEveryFormatKeepsTheTable goes from each format to each other one.
func TestEveryFormatKeepsTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(t)
		opts := convert.ReadOptions{Columns: table[0].Columns}
		for _, first := range convert.Formats {
			rows := decode(t, first, encode(t, first, table), withLabel(opts, first, table))
			for _, second := range convert.Formats {
				again := decode(t, second, encode(t, second, rows), withLabel(opts, second, rows))
				require.Len(t, again, len(table))
				for i, row := range again {
					place := []any{"row %d, %s, %s", i, first, second}
					require.Equal(t, dense(table[i]), dense(row), place...)
					want := table[i].Label
					if len(want) == 0 && len(row.Label) > 0 {
						want = []float32{0} // LibSVM always has one
					}
					require.True(t, slices.Equal(want, row.Label), place...)
				}
			}
		}
	})
}

// withLabel tells the formats that need it how many columns are the label.
func withLabel(opts convert.ReadOptions, format convert.Format, rows []convert.Row) convert.ReadOptions {
	if format == convert.CSV || format == convert.NPY {
		opts.LabelSize = len(rows[0].Label)
	}
	return opts
}

// TestSparseFormatsKeepRowsSparse holds where both formats know sparse rows, bit by bit.
func TestSparseFormatsKeepRowsSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(t)
		for _, format := range []convert.Format{convert.RecordIO, convert.JSONLines, convert.NPZ} {
			requireRows(t, table, decode(t, format, encode(t, format, table), convert.ReadOptions{}))
		}
	})
}

func TestLabelsStandBesideANPY(t *testing.T) {
	for _, label := range [][]float32{{1}, {1, 2}} {
		var features, labels buffer
		w, err := convert.NewWriter(convert.NPY, &features, convert.WriteOptions{Labels: &labels})
		require.NoError(t, err)
		want := []convert.Row{{Columns: 2, Values: []float32{3, 4}, Label: label}, {Columns: 2, Values: []float32{5, 6}, Label: label}}
		for _, row := range want {
			require.NoError(t, w.Write(row))
		}
		require.NoError(t, w.Close())
		requireRows(t, want, decode(t, convert.NPY, features.data, convert.ReadOptions{Labels: bytes.NewReader(labels.data)}))

		for _, wrong := range [][]byte{encode(t, convert.NPY, want[:1]), encode(t, convert.NPY, append(want, want...))} {
			src, err := convert.NewReader(convert.NPY, bytes.NewReader(features.data), convert.ReadOptions{Labels: bytes.NewReader(wrong)})
			require.NoError(t, err)
			_, err = collect(src)
			require.ErrorContains(t, err, "than rows")
		}
	}
}

func TestRowsThatDoNotFitAreRefused(t *testing.T) {
	nan := float32(math.NaN())
	row := convert.Row{Columns: 2, Values: []float32{1, 2}}
	unknown := convert.Row{Keys: []int32{1}, Values: []float32{1}} // how wide it is
	labelled := convert.Row{Columns: 2, Values: []float32{1, 2}, Label: []float32{1}}
	three := convert.Row{Columns: 3, Keys: []int32{2}, Values: []float32{1}}
	for _, c := range []struct {
		format convert.Format
		rows   []convert.Row
		want   string
	}{
		{convert.CSV, []convert.Row{row, {Columns: 1, Values: []float32{1}}}, "row 1: 1 features, want 2 as in the first row"},
		{convert.CSV, []convert.Row{row, {Columns: 2, Values: []float32{1, 2}, Label: []float32{1}}}, "row 1: a label of 1 values, want 0 as in the first row"},
		{convert.NPY, []convert.Row{{Keys: []int32{}}}, "row 0: a sparse row does not tell its width, which the output needs"},
		{convert.NPY, []convert.Row{{}}, "row 0: a row of no features"},
		{convert.NPY, []convert.Row{{Keys: []int32{}, Columns: 1 << 30}}, "row 0: a sparse row of 1073741824 features is too wide to be made dense"},
		{convert.NPZ, []convert.Row{{Keys: []int32{5}, Values: []float32{1}, Columns: 5}}, "row 0: key 5 in a row of 5 features"},
		{convert.CSV, []convert.Row{{Keys: []int32{5}, Values: []float32{1}, Columns: 5}}, "row 0: key 5 in a row of 5 features"},
		{convert.LibSVM, []convert.Row{{Keys: []int32{5}, Columns: 5}}, "row 0: 1 keys for 0 values"},
		{convert.CSV, []convert.Row{{Columns: 2, Values: []float32{1, nan}}}, "row 0: number 1 is NaN"},
		{convert.JSONLines, []convert.Row{{Columns: 1, Values: []float32{nan}}}, "row 0: number 0 is NaN"},
		{convert.RecordIO, []convert.Row{row, three}, "row 1: 3 features, want 2 as in the first row"},
		{convert.RecordIO, []convert.Row{row, labelled}, "row 1: a label of 1 values, want 0 as in the first row"},
		{convert.JSONLines, []convert.Row{unknown, row, three}, "row 2: 3 features, want 2 as in the first row"},
		{convert.JSONLines, []convert.Row{unknown, labelled}, "row 1: a label of 1 values, want 0 as in the first row"},
		{convert.RecordIO, []convert.Row{{Keys: []int32{}}}, "row 0: a sparse row does not tell its width, which the output needs"},
	} {
		w, err := convert.NewWriter(c.format, new(buffer), convert.WriteOptions{})
		require.NoError(t, err)
		_, err = convert.Copy(w, &list{rows: c.rows})
		require.EqualError(t, err, c.want)
	}
}

// list is a Reader of given rows.
type list struct{ rows []convert.Row }

func (l *list) Next() (convert.Row, error) {
	if len(l.rows) == 0 {
		return convert.Row{}, io.EOF
	}
	row := l.rows[0]
	l.rows = l.rows[1:]
	return row, nil
}

func TestNonFiniteNumbersPassWhereAsked(t *testing.T) {
	row := convert.Row{Columns: 3, Values: []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}, Label: []float32{1}}
	for _, format := range []convert.Format{convert.CSV, convert.LibSVM} {
		var b bytes.Buffer
		w, err := convert.NewWriter(format, &b, convert.WriteOptions{NonFinite: true})
		require.NoError(t, err)
		require.NoError(t, w.Write(row))
		require.NoError(t, w.Close())
		rows := decode(t, format, b.Bytes(), convert.ReadOptions{NonFinite: true, LabelSize: 1})
		require.Len(t, rows, 1)
		require.True(t, math.IsNaN(float64(rows[0].Values[0])))
		require.Equal(t, row.Values[1:], rows[0].Values[1:])
	}
}

// A .npy that cannot be written twice needs its number of rows, unless that is 0.
func TestNPYOfNoRowsNeedsNoSeeker(t *testing.T) {
	var stream, file bytes.Buffer
	w, err := convert.NewWriter(convert.NPY, &stream, convert.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	file.Write(encode(t, convert.NPY, nil))
	require.Equal(t, file.Bytes(), stream.Bytes())

	w, err = convert.NewWriter(convert.NPY, &stream, convert.WriteOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, w.Write(convert.Row{Columns: 1, Values: []float32{1}}), "must be given where the destination cannot seek")
}
