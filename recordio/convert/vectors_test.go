package convert_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/recordio/convert"
)

// collect returns copies of the rows that r has left.
func collect(r convert.Reader) (rows []convert.Row, err error) {
	for {
		row, err := r.Next()
		if err != nil {
			return rows, err
		}
		rows = append(rows, convert.Row{
			Columns: row.Columns, Keys: slices.Clone(row.Keys),
			Values: slices.Clone(row.Values), Label: slices.Clone(row.Label),
		})
	}
}

// A vector is a line of vectors.json.
type vector struct {
	File    string
	Rows    *[]json.RawMessage // null where the file must be refused
	Labels  [][]float32
	Options struct {
		LabelSize         int
		Array, LabelArray string
	}
}

func (v vector) readOptions() convert.ReadOptions {
	return convert.ReadOptions{LabelSize: v.Options.LabelSize, Array: v.Options.Array, LabelArray: v.Options.LabelArray}
}

// rows returns what the file must hold.
func (v vector) rows(t *testing.T) []convert.Row {
	var rows []convert.Row
	for i, raw := range *v.Rows {
		var row convert.Row
		if json.Unmarshal(raw, &row.Values) == nil {
			row.Columns = len(row.Values)
		} else {
			row = convert.Row{}
			require.NoError(t, json.Unmarshal(raw, &[]any{&row.Keys, &row.Values, &row.Columns}))
		}
		if v.Labels != nil {
			row.Label = v.Labels[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func vectors(t testing.TB) (list []vector) {
	text, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &list))
	return list
}

// requireRows compares rows; slices that are nil and empty are the same, but for Keys.
func requireRows(t require.TestingT, want, got []convert.Row) {
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Columns, got[i].Columns, "row %d", i)
		require.Equal(t, want[i].Keys == nil, got[i].Keys == nil, "row %d", i)
		require.ElementsMatch(t, want[i].Keys, got[i].Keys, "row %d", i)
		require.Equal(t, bitsOf(want[i].Values), bitsOf(got[i].Values), "row %d", i)
		require.Equal(t, bitsOf(want[i].Label), bitsOf(got[i].Label), "row %d", i)
	}
}

func bitsOf(numbers []float32) []uint32 {
	list := []uint32{}
	for _, x := range numbers {
		list = append(list, math.Float32bits(x))
	}
	return list
}

func TestFilesOfNumPyAndSciPy(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.File, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", v.File))
			require.NoError(t, err)
			format, err := convert.ByPath(v.File)
			require.NoError(t, err)
			whole, err := convert.NewReader(format, bytes.NewReader(data), v.readOptions())
			require.NoError(t, err)
			bytewise, err := convert.NewReader(format, iotest.OneByteReader(bytes.NewReader(data)), v.readOptions())
			require.NoError(t, err)

			for _, src := range []convert.Reader{whole, bytewise} {
				rows, err := collect(src)
				if v.Rows == nil {
					var bad *convert.Error
					require.ErrorAs(t, err, &bad)
					require.True(t, bad.ClientError())
					t.Log(err)
					continue
				}
				require.EqualError(t, err, "EOF")
				requireRows(t, v.rows(t), rows)
			}
		})
	}
}

// TestRecordIOIsThatOfTheSDK converts each array of which the SDK has written the records.
func TestRecordIOIsThatOfTheSDK(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"float32.npy", "float32.pbr"}, {"csr.npz", "csr.pbr"}, {"csr-array.npz", "csr.pbr"}, {"positional.npz", "float32-labelled.pbr"},
	} {
		var opts convert.ReadOptions
		if c.from == "positional.npz" {
			opts.LabelArray = "arr_1"
		}
		require.Equal(t, readFile(t, c.to), convertTo(t, c.from, convert.RecordIO, opts, convert.WriteOptions{}), c.from)
	}
	labels := &buffer{}
	var encoded bytes.Buffer
	w, err := convert.NewWriter(convert.NPY, labels, convert.WriteOptions{})
	require.NoError(t, err)
	for i := range 6 {
		require.NoError(t, w.Write(convert.Row{Values: []float32{float32(i)}}))
	}
	require.NoError(t, w.Close())
	src, err := convert.NewReader(convert.NPZ, bytes.NewReader(readFile(t, "csr.npz")), convert.ReadOptions{Labels: bytes.NewReader(labels.data)})
	require.NoError(t, err)
	dst, err := convert.NewWriter(convert.RecordIO, &encoded, convert.WriteOptions{})
	require.NoError(t, err)
	_, err = convert.Copy(dst, src)
	require.NoError(t, err)
	require.NoError(t, dst.Close())
	require.Equal(t, readFile(t, "csr-labelled.pbr"), encoded.Bytes())
}

// TestNPYIsThatOfNumPy compares bytes.
func TestNPYIsThatOfNumPy(t *testing.T) {
	want := readFile(t, "float32.npy")
	require.Equal(t, want, convertTo(t, "float32.pbr", convert.NPY, convert.ReadOptions{}, convert.WriteOptions{Rows: 4}))

	var seekable buffer
	src, err := convert.NewReader(convert.RecordIO, bytes.NewReader(readFile(t, "float32.pbr")), convert.ReadOptions{})
	require.NoError(t, err)
	dst, err := convert.NewWriter(convert.NPY, &seekable, convert.WriteOptions{})
	require.NoError(t, err)
	_, err = convert.Copy(dst, src)
	require.NoError(t, err)
	require.NoError(t, dst.Close())
	require.Equal(t, want, seekable.data)
}

func readFile(t *testing.T, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func convertTo(t *testing.T, name string, format convert.Format, from convert.ReadOptions, to convert.WriteOptions) []byte {
	kind, err := convert.ByPath(name)
	require.NoError(t, err)
	src, err := convert.NewReader(kind, bytes.NewReader(readFile(t, name)), from)
	require.NoError(t, err)
	var b bytes.Buffer
	dst, err := convert.NewWriter(format, &b, to)
	require.NoError(t, err)
	_, err = convert.Copy(dst, src)
	require.NoError(t, err)
	require.NoError(t, dst.Close())
	return b.Bytes()
}

// buffer is a file in memory.
type buffer struct {
	data []byte
	at   int
}

func (b *buffer) Write(p []byte) (int, error) {
	b.data = append(b.data, make([]byte, max(0, b.at+len(p)-len(b.data)))...)
	copy(b.data[b.at:], p)
	b.at += len(p)
	return len(p), nil
}

func (b *buffer) Seek(offset int64, whence int) (int64, error) {
	base := []int{0, b.at, len(b.data)}[whence]
	b.at = base + int(offset)
	return int64(b.at), nil
}
