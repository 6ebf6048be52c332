package ndarray_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/algorithms/ndarray"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFile(t)
		data := write(t, f)
		got := mustRead(t, data)
		require.Len(t, got.Arrays, len(f.Arrays))
		for i, a := range f.Arrays {
			requireSame(t, a, got.Arrays[i])
		}
		require.Equal(t, data, write(t, got))
	})
}

func drawFile(t *rapid.T) *ndarray.File {
	f := new(ndarray.File)
	named := rapid.Bool().Draw(t, "named")
	for range rapid.IntRange(0, 4).Draw(t, "arrays") {
		name := ""
		if named {
			name = rapid.StringN(1, -1, 20).Draw(t, "name")
		}
		f.Arrays = append(f.Arrays, drawArray(t, name))
	}
	return f
}

func drawArray(t *rapid.T, name string) ndarray.Array {
	switch rapid.IntRange(-1, 7).Draw(t, "dtype") {
	case 0:
		return drawOf(t, name, rapid.Float32())
	case 1:
		return drawOf(t, name, rapid.Float64())
	case 2:
		return drawOf(t, name, rapid.Map(rapid.Uint16(), func(x uint16) ndarray.Half { return ndarray.Half(x) }))
	case 3:
		return drawOf(t, name, rapid.Uint8())
	case 4:
		return drawOf(t, name, rapid.Int32())
	case 5:
		return drawOf(t, name, rapid.Int8())
	case 6:
		return drawOf(t, name, rapid.Int64())
	case 7:
		return drawOf(t, name, rapid.Bool())
	}
	return ndarray.Array{Name: name}
}

func drawOf[T ndarray.Element](t *rapid.T, name string, element *rapid.Generator[T]) ndarray.Array {
	data := func(n int) []T { return rapid.SliceOfN(element, n, n).Draw(t, "data") }
	rows, cols := rapid.IntRange(0, 5).Draw(t, "rows"), rapid.IntRange(1, 4).Draw(t, "cols")
	switch ndarray.Storage(rapid.IntRange(0, 2).Draw(t, "storage")) {
	case ndarray.RowSparse:
		var stored []int64
		for r := range rows {
			if rapid.Bool().Draw(t, "stored") {
				stored = append(stored, int64(r))
			}
		}
		return ndarray.NewRowSparse(name, data(len(stored)*cols), stored, rows, cols)
	case ndarray.CSR:
		indptr, indices := []int64{0}, []int64(nil)
		for range rows {
			for c := range cols {
				if rapid.Bool().Draw(t, "stored") {
					indices = append(indices, int64(c))
				}
			}
			indptr = append(indptr, int64(len(indices)))
		}
		return ndarray.NewCSR(name, data(len(indices)), indptr, indices, rows, cols)
	}
	a := ndarray.New(name, data(rows*cols), rows, cols)
	a.Format = rapid.SampledFrom([]ndarray.Format{ndarray.V2, ndarray.V1, ndarray.V0}).Draw(t, "format")
	return a
}

// Values of several buffers meet the growing slice of the reader and the chunks of the writer.
func TestLargeArraysCrossTheBuffers(t *testing.T) {
	for _, n := range []int{8191, 8192, 8193, 100_000} {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(i)
		}
		f := &ndarray.File{Arrays: []ndarray.Array{ndarray.New("v", data)}}
		got := valuesOf[float32](t, mustRead(t, write(t, f)).Arrays[0])
		require.True(t, slices.Equal(data, got))
		require.Equal(t, n, cap(got), "no memory kept that the values do not fill")
	}
}

// What the reader accepts, the writer encodes to the same bytes; the rest is the data's fault.
func FuzzRead(f *testing.F) {
	for _, data := range vectors(f, false) {
		f.Add(data)
	}
	f.Add(list(fields(2, 2, 1, 1, 0, 0, 0, 0)))
	f.Add(list(join(magic1, fields(1), int64(2), fields(1, 0, 3), "ab")))
	f.Add(list(join(magic2, fields(-1, 0))))
	f.Fuzz(func(t *testing.T, data []byte) {
		var file ndarray.File
		n, err := file.ReadFrom(bytes.NewReader(data))
		require.LessOrEqual(t, n, int64(len(data)))
		if err != nil {
			require.True(t, clientError(err), err)
			return
		}
		require.EqualValues(t, len(data), n)
		require.Equal(t, data, write(t, &file))
	})
}
