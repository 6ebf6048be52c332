package ndarray_test

import (
	"bytes"
	"io"
	"math"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/ndarray"
)

func TestAFileCutAnywhereEndsUnexpectedly(t *testing.T) {
	for _, shared := range []bool{false, true} {
		name := map[bool]string{false: "testdata", true: "shared"}[shared]
		t.Run(name, func(t *testing.T) {
			for name, data := range vectors(t, shared) {
				for n := 0; n < len(data); n++ {
					if len(data) > 10_000 && n > 2000 {
						n = max(n+12, len(data)-300) // the middle is values, the end is names
					}
					if n >= len(data) {
						break
					}
					_, err := read(data[:n])
					require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s cut at %d", name, n)
					var where *ndarray.FormatError
					require.ErrorAs(t, err, &where)
					require.EqualValues(t, n, where.Offset)
				}
			}
		})
	}
}

func TestReadsDoNotDependOnHowTheBytesArrive(t *testing.T) {
	for name, data := range vectors(t, false) {
		want := mustRead(t, data)
		for _, slow := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			var got ndarray.File
			n, err := got.ReadFrom(slow(bytes.NewReader(data)))
			require.NoError(t, err, name)
			require.EqualValues(t, len(data), n)
			require.Equal(t, *want, got)
		}
	}
}

func TestAnErrorOfTheReaderIsPassedOnAndNotBlamedOnTheData(t *testing.T) {
	f := ndarray.File{Arrays: []ndarray.Array{ndarray.New("kept", []float32{1})}}
	n, err := f.ReadFrom(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(unhex(goldenList)))))
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.False(t, clientError(err))
	require.EqualValues(t, 1, n)

	end := io.MultiReader(bytes.NewReader(unhex(goldenList)), iotest.ErrReader(iotest.ErrTimeout))
	_, err = f.ReadFrom(end)
	require.EqualError(t, err, "ndarray: byte 88: timeout")

	_, err = f.ReadFrom(stuck{})
	require.ErrorIs(t, err, io.ErrNoProgress)
	require.Equal(t, "kept", f.Arrays[0].Name, "unchanged after an error")
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestBadFilesSayWhereAndWhat(t *testing.T) {
	good := join(dense(), float32(1), float32(2))
	csr := func(indptr, indices []int64) []byte {
		return list(join(magic2, fields(2, 1), int64(2), fields(2), int64(2), int64(4), fields(1, 0, 0,
			6, 1), int64(len(indptr)), fields(6, 1), int64(len(indices)), float32(1), float32(2), indptr, indices))
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"another format":      {[]byte("PK\x03\x04 a zip file, not an array"), "byte 0: no NDArray file: it starts with 0x7a20612004034b50"},
		"reserved field":      {join(uint64(0x112), uint64(7), uint64(0), uint64(0)), "byte 8: the reserved field is 0x7"},
		"bytes after the end": {join(list(good), "x"), "byte 72: bytes after the end of the file"},
		"more names":          {join(uint64(0x112), uint64(0), uint64(0), uint64(1)), "byte 24: 1 names for 0 arrays"},
		"huge name": {join(uint64(0x112), uint64(0), uint64(1), good, uint64(1), uint64(1<<63)),
			"array 0 at byte 72: a name of 9223372036854775808 bytes"},
		"version 3":              {list(good, join(uint32(0xF993FACA))), "array 1 at byte 64: format version 3 (NumPy shapes) is not supported"},
		"no magic number":        {list(join(uint32(33))), "array 0 at byte 24: no array starts with 0x21"},
		"unknown storage":        {list(join(magic2, fields(3))), "array 0 at byte 28: unknown storage type 3"},
		"undefined storage":      {list(join(magic2, fields(-1, 1), int64(2))), "array 0 at byte 24: undefined storage of shape [2]"},
		"negative ndim":          {list(join(magic2, fields(0, -1))), "array 0 at byte 32: -1 dimensions"},
		"too many dimensions":    {list(join(magic1, fields(33))), "array 0 at byte 28: 33 dimensions"},
		"negative dimension":     {list(join(magic2, fields(0, 2), int64(1), int64(-2))), "array 0 at byte 44: dimension 1 is -2"},
		"device 0":               {list(join(magic2, fields(0, 1), int64(2), fields(0, 0, 0))), "array 0 at byte 44: unknown device type 0"},
		"unknown dtype":          {list(good, join(magic2, fields(0, 1), int64(2), fields(1, 0, 9))), "array 1 at byte 92: unknown dtype 9"},
		"bool 2":                 {list(join(magic2, fields(0, 1), int64(2), fields(1, 0, 7), "\x01\x02")), "array 0 at byte 57: bool of value 2"},
		"overflowing shape":      {list(join(magic2, fields(0, 2), int64(1<<33), int64(1<<33), fields(1, 0, 0))), "array 0 at byte 24: shape [8589934592 8589934592] is negative or too large"},
		"overflowing byte count": {list(join(magic2, fields(0, 1), int64(1<<61), fields(1, 0, 0))), "array 0 at byte 24: shape [2305843009213693952] is negative or too large"},

		"sparse none with a storage shape": {list(join(magic2, fields(1, 1), int64(2), fields(0))),
			"array 0 at byte 24: storage shape [2] without a shape"},
		"row_sparse with another storage shape": {list(join(magic2, fields(1, 2), int64(1), int64(3), fields(2), int64(5), int64(2),
			fields(1, 0, 0, 6, 1), int64(1))), "array 0 at byte 24: storage shape [1 3], want [1 2]"},
		"indices of int32": {list(join(magic2, fields(1, 1), int64(1), fields(1), int64(5), fields(1, 0, 0, 4, 1), int64(1))),
			"array 0 at byte 68: indices of type int32, want int64"},
		"a matrix of indices": {list(join(magic2, fields(1, 1), int64(1), fields(1), int64(5), fields(1, 0, 0, 6, 2), int64(1), int64(1))),
			"array 0 at byte 72: indices of 2 dimensions"},
		"row outside the shape": {list(join(magic2, fields(1, 1), int64(1), fields(1), int64(5), fields(1, 0, 0, 6, 1), int64(1), float32(1), int64(5))),
			"array 0 at byte 88: index 0 is 5, not below 5"},
		"csr of one dimension": {list(join(magic2, fields(2, 1), int64(0), fields(1), int64(2), fields(1, 0, 0, 6, 1), int64(3), fields(6, 1), int64(0))),
			"array 0 at byte 24: csr of 1 dimensions"},
		"csr column outside the shape": {csr([]int64{0, 1, 2}, []int64{0, -1}), "array 0 at byte 116: index 1 is -1, not below 4"},
		"csr indptr too short":         {csr([]int64{0, 2}, []int64{0, 1}), "array 0 at byte 24: indptr of 2 for 2 rows"},
		"csr without indptr":           {csr(nil, []int64{0, 1}), "array 0 at byte 24: indptr of 0 for 2 rows"},
		"csr indptr not ascending":     {csr([]int64{0, 5, 2}, []int64{0, 1}), "array 0 at byte 116: indptr is not ascending"},
		"csr indptr with another end":  {csr([]int64{0, 1, 3}, []int64{0, 1}), "array 0 at byte 116: indptr runs from 0 to 3, not from 0 to 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.data)
			require.EqualError(t, err, "ndarray: "+c.want)
			require.True(t, clientError(err))
			require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
		})
	}
}

func TestLengthsThatAFileOnlyClaimsAreNotAllocated(t *testing.T) {
	const huge = math.MaxInt64 / 8
	for name, data := range map[string][]byte{
		"arrays":             join(uint64(0x112), uint64(0), uint64(math.MaxUint64)),
		"values":             list(join(magic2, fields(0, 1), int64(huge), fields(1, 0, 1))),
		"values of any size": list(join(magic2, fields(0, 3), int64(1<<19), int64(1<<20), int64(1<<20), fields(1, 0, 3))),
		"legacy values":      list(join(fields(1, -1, 1, 0, 0))),
		"name":               join(uint64(0x112), uint64(0), uint64(1), dense(), int64(0), uint64(1), uint64(math.MaxInt32)),
		"rows": list(join(magic2, fields(1, 2), int64(huge), int64(1), fields(2), int64(huge), int64(1),
			fields(1, 0, 0, 6, 1), int64(huge))),
		"indptr": list(join(magic2, fields(2, 1), int64(0), fields(2), int64(huge), int64(1),
			fields(1, 0, 0, 6, 1), int64(huge+1), fields(6, 1), int64(0))),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := read(data)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<10))
		})
	}
}

func TestMemoryIsProportionalToTheBytesThatArrive(t *testing.T) {
	const arrived = 4 << 20
	data := join(uint64(0x112), uint64(0), uint64(1), magic2, fields(0, 1), int64(1<<40), fields(1, 0, 0), make([]byte, arrived))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := read(data)
	runtime.ReadMemStats(&after)
	require.EqualError(t, err, "ndarray: array 0 at byte 4194360: unexpected EOF")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(5*arrived))
}

func TestNoneArraysAndDevicesKeepTheirBytes(t *testing.T) {
	for name, data := range map[string][]byte{
		"none of version 2":    list(join(magic2, fields(0, 0)), join(dense(), int64(0))),
		"none of version 1":    list(join(magic1, fields(0)), join(dense(), int64(0))),
		"none of version 0":    list(fields(0), join(dense(), int64(0))),
		"none, undefined":      list(join(magic2, fields(-1, 0))),
		"none, row_sparse":     list(join(magic2, fields(1, 0, 0))),
		"a dimension of 0":     list(join(magic2, fields(0, 3), int64(0), int64(math.MaxInt64), int64(math.MaxInt64), fields(1, 0, 0))),
		"saved from a GPU":     list(join(magic2, fields(0, 1), int64(1), fields(2, 3, 0), float32(1))),
		"signalling NaN":       list(join(magic2, fields(0, 1), int64(1), fields(1, 0, 0), uint32(0x7f800001))),
		"csr never filled":     list(join(magic2, fields(2, 1), int64(0), fields(2), int64(2), int64(4), fields(1, 0, 0, 6, 1), int64(0), fields(6, 1), int64(0))),
		"legacy, two by one":   list(join(fields(2, 2, 1, 1, 0, 3), "\x07\x08")),
		"the same name, twice": join(uint64(0x112), uint64(0), uint64(2), fields(0, 0), uint64(2), uint64(1), "a", uint64(1), "a"),
	} {
		t.Run(name, func(t *testing.T) {
			f := mustRead(t, data)
			require.Equal(t, data, write(t, f))
		})
	}
}
