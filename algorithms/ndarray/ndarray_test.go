package ndarray_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/ndarray"
)

func TestZeroValues(t *testing.T) {
	require.Equal(t, list(), write(t, &ndarray.File{}))

	var none ndarray.Array
	require.Nil(t, none.Shape())
	require.Equal(t, ndarray.None, none.DType())
	require.Equal(t, ndarray.Dense, none.Storage())
	require.Nil(t, none.Indices())
	require.Nil(t, none.Indptr())
	_, err := ndarray.Values[float32](none)
	require.EqualError(t, err, `ndarray: array "" holds none, not float32`)

	f := &ndarray.File{Arrays: []ndarray.Array{none}}
	require.Equal(t, f, mustRead(t, write(t, f)))
}

func TestAnArrayIsFoundByItsName(t *testing.T) {
	f := &ndarray.File{Arrays: []ndarray.Array{
		ndarray.New("s", []float32{1}), ndarray.New("v", []float32{2}), ndarray.New("s", []float32{3}),
	}}
	s, err := f.Array("s")
	require.NoError(t, err)
	require.Equal(t, []float32{3}, values(t, s), "the last of the name, as in a dict")

	_, err = f.Array("mean")
	require.EqualError(t, err, `ndarray: no array "mean": the file has "s", "v", "s"`)
	require.True(t, clientError(err))

	f.Arrays = []ndarray.Array{ndarray.New("", []float32{1})}
	_, err = f.Array("")
	require.EqualError(t, err, `ndarray: no array "": the file has 1 unnamed`)
}

func TestValuesOfAnotherTypeAreAnError(t *testing.T) {
	_, err := ndarray.Values[float32](ndarray.New("v", []float64{1}))
	require.EqualError(t, err, `ndarray: array "v" holds float64, not float32`)
	require.True(t, clientError(err))
}

func TestAnArraySharesItsValuesButNotItsShape(t *testing.T) {
	data, shape := []float32{1, 2}, []int{1, 2}
	a := ndarray.New("", data, shape...)
	data[0], shape[0] = 9, 9
	a.Shape()[1] = 9
	require.Equal(t, []int{1, 2}, a.Shape())
	require.Equal(t, []float32{9, 2}, values(t, a))
}

func TestShapesThatDisagreeWithTheDataPanic(t *testing.T) {
	one := []float32{1}
	for want, call := range map[string]func(){
		`ndarray: array "v" of shape [2 3]: 1 values for 6 elements`:                  func() { ndarray.New("v", one, 2, 3) },
		`ndarray: array "v" of shape [-1 -1]: shape [-1 -1] is negative or too large`: func() { ndarray.New("v", one, -1, -1) },
		`ndarray: array "v" of shape []: 0 dimensions`:                                func() { ndarray.NewRowSparse("v", one, []int64{0}) },
		`ndarray: array "v" of shape [3]: 1 values for 2 elements`:                    func() { ndarray.NewRowSparse("v", one, []int64{0, 1}, 3) },
		`ndarray: array "v" of shape [3]: index 0 is 3, not below 3`:                  func() { ndarray.NewRowSparse("v", one, []int64{3}, 3) },
		`ndarray: array "v" of shape [2 1]: indptr of 2 for 2 rows`:                   func() { ndarray.NewCSR("v", one, []int64{0, 1}, []int64{0}, 2, 1) },
		`ndarray: array "v" of shape [1 1]: indptr runs from 1 to 1, not from 0 to 1`: func() { ndarray.NewCSR("v", one, []int64{1, 1}, []int64{0}, 1, 1) },
		`ndarray: array "v" of shape [1 1]: 2 values for 1 elements`:                  func() { ndarray.NewCSR("v", []float32{1, 2}, []int64{0, 1}, []int64{0}, 1, 1) },
	} {
		require.PanicsWithValue(t, want, call)
	}
}

func TestWhatTheFormatCannotExpressIsAnErrorBeforeTheFirstByte(t *testing.T) {
	sparse := ndarray.NewRowSparse("", []float32{1}, []int64{0}, 1)
	sparse.Format = ndarray.V1
	beyond := int64(math.MaxUint32 + 1)
	wide := ndarray.New("", []float32{}, 0, int(beyond)) // this test needs an int of 64 bits
	wide.Format = ndarray.V0
	odd := ndarray.Array{Format: 7}
	for want, arrays := range map[string][]ndarray.Array{
		"ndarray: array 0: version 1 has no row_sparse storage":       {sparse},
		"ndarray: array 0: version 0 has no dimension of 4294967296":  {wide},
		"ndarray: array 0: unknown format 7":                          {odd},
		"ndarray: array 1: either all arrays have a name or none has": {ndarray.New("a", []int8{1}), ndarray.New("", []int8{1})},
	} {
		var b bytes.Buffer
		n, err := (&ndarray.File{Arrays: arrays}).WriteTo(&b)
		require.EqualError(t, err, want)
		require.Zero(t, n)
		require.Zero(t, b.Len())
		require.False(t, clientError(err))
	}
}

func TestAFormatCanBeChanged(t *testing.T) {
	a := ndarray.New("", []uint8{7, 8}, 2, 1)
	a.Format = ndarray.V0
	require.Equal(t, list(join(fields(2, 2, 1, 1, 0, 3), "\x07\x08")), write(t, &ndarray.File{Arrays: []ndarray.Array{a}}))
	a.Format = ndarray.V1
	require.Equal(t, list(join(magic1, fields(2), int64(2), int64(1), fields(1, 0, 3), "\x07\x08")),
		write(t, &ndarray.File{Arrays: []ndarray.Array{a}}))
}

func TestWriteToCountsWhatTheWriterTook(t *testing.T) {
	f := &ndarray.File{Arrays: []ndarray.Array{ndarray.New("v", make([]float64, 10_000))}}
	whole := len(write(t, f))
	require.Equal(t, 24+8+12+12+80_000+8+8+1, whole)
	for _, room := range []int{0, 1, 100, 40_000, whole - 1} {
		n, err := f.WriteTo(&full{room: room})
		require.ErrorIs(t, err, errFull)
		require.EqualValues(t, room, n)
	}
	n, err := f.WriteTo(&full{room: whole})
	require.NoError(t, err)
	require.EqualValues(t, whole, n)
}

var errFull = errors.New("no space left")

// full is a disk with some room.
type full struct{ room int }

func (w *full) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestStringsAreMXNetsNames(t *testing.T) {
	require.Equal(t, "DType(12)", ndarray.DType(12).String())
	require.Equal(t, "csr", ndarray.CSR.String())
	require.Equal(t, "default", ndarray.Dense.String())
	require.Equal(t, "undefined", ndarray.Undefined.String())
	require.Equal(t, "Storage(5)", ndarray.Storage(5).String())
	require.Equal(t, "version 2", ndarray.V2.String())
	require.Equal(t, "Format(3)", ndarray.Format(3).String())
}

var (
	_ io.WriterTo   = (*ndarray.File)(nil)
	_ io.ReaderFrom = (*ndarray.File)(nil)
)
