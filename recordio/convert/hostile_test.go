package convert_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/recordio/convert"
)

// npy returns a .npy of version 1 with a given header.
func npy(header string, data ...byte) []byte {
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), data...)
}

func readNPY(data []byte) ([]convert.Row, error) {
	src, err := convert.NewReader(convert.NPY, bytes.NewReader(data), convert.ReadOptions{})
	if err != nil {
		return nil, err
	}
	return collect(src)
}

func TestNPYErrorsNameThePlace(t *testing.T) {
	const tail = "'fortran_order': False, 'shape': (1,), }\n"
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":                   {nil, "npy: the array is cut off: unexpected EOF"},
		"another file":            {[]byte("PK\x03\x04aaaaaaa"), `npy: not a .npy: it begins with "PK\x03\x04aa"`},
		"version of the future":   {[]byte("\x93NUMPY\x04\x00aaaa"), "npy: version 4 of the format is not known"},
		"header without an end":   {npy("{'descr': '<f4'")[:18], "npy: the array is cut off: unexpected EOF"},
		"header of 4 GB":          {[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), "npy: a header of 4294967295 bytes"},
		"not a dict":              {npy("[]\n"), `npy: header: "[]\n" where "{" should be`},
		"key without a value":     {npy("{'descr'}"), `npy: header: "}" where ":" should be`},
		"unknown key":             {npy("{'descr': '<f4', 'x': 1}"), `npy: header: unknown key "x"`},
		"key twice":               {npy("{'descr': '<f4', 'descr': '<f4'}"), `npy: header: key "descr" twice`},
		"key left out":            {npy("{'descr': '<f4'}"), `npy: header: it must have descr, fortran_order and shape`},
		"negative extent":         {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), `npy: header: "-1,)}" where an extent should be`},
		"extent past 64 bits":     {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), `npy: header: "99999999999999999999" where an extent should be`},
		"shape overflows":         {npy("{'descr': '<f4', 'fortran_order': True, 'shape': (4611686018427387904, 4)}"), "npy: the shape [4611686018427387904 4] overflows"},
		"text behind":             {npy("{'descr': '<f4', " + tail[:len(tail)-1] + "x"), `npy: header: text behind the dict: "x"`},
		"half precision":          {npy("{'descr': '<f2', " + tail), `npy: elements of type "<f2" are not supported`},
		"objects":                 {npy("{'descr': '|O', " + tail), `npy: elements of type "|O" are not supported`},
		"scalar":                  {npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}"), "npy: an array of 0 dimensions, want 1 or 2"},
		"rows of nothing":         {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 0)}"), "npy: rows of no columns"},
		"cut row":                 {npy("{'descr': '<f4', "+tail, 1, 2, 3), "npy: row 0: the array is cut off: unexpected EOF"},
		"data behind":             {npy("{'descr': '<f4', "+tail, 1, 2, 3, 4, 5), "npy: data behind an array of shape [1]"},
		"text without an end":     {npy("{'descr': '<f4"), "npy: header: a quoted text without an end"},
		"double quotes, Python 2": {npy(`{u"descr": "<f4", 'shape': (1L,), 'fortran_order': False}`, 0, 0, 128, 63), "EOF"},
	} {
		_, err := readNPY(c.data)
		require.EqualError(t, err, c.want, name)
	}
}

func TestTheSourcesErrorIsNotTheDatas(t *testing.T) {
	whole := npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", 0, 0, 0, 0)
	broken := errors.New("the disk broke")
	for cut := range len(whole) + 1 {
		src, err := convert.NewReader(convert.NPY, io.MultiReader(bytes.NewReader(whole[:cut]), iotest.ErrReader(broken)), convert.ReadOptions{})
		require.NoError(t, err)
		_, err = collect(src)
		require.ErrorIs(t, err, broken)
		var client interface{ ClientError() bool }
		require.False(t, errors.As(err, &client))
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestHostileShapesAllocateOnlyWhatArrives(t *testing.T) {
	const most = 1 << 20
	for _, shape := range []string{"(1, 1099511627776)", "(1099511627776, 1)", "(1048576, 1048576)"} {
		for _, order := range []string{"True", "False"} {
			data := npy("{'descr': '<f8', 'fortran_order': "+order+", 'shape': "+shape+"}", make([]byte, 100)...)
			size := allocated(func() {
				_, err := readNPY(data)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			})
			require.Less(t, size, uint64(most), "%s %s", shape, order)
		}
	}
}

// FuzzNPY checks that an array that is accepted is the same after it was written again.
func FuzzNPY(f *testing.F) {
	seedWith(f, ".npy")
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := readNPY(data)
		if err != io.EOF {
			return
		}
		requireRows(t, rows, decode(t, convert.NPY, encode(t, convert.NPY, rows), convert.ReadOptions{}))
	})
}

// FuzzNPZ does the same for archives.
func FuzzNPZ(f *testing.F) {
	seedWith(f, ".npz")
	f.Fuzz(func(t *testing.T, data []byte) {
		src, err := convert.NewReader(convert.NPZ, bytes.NewReader(data), convert.ReadOptions{})
		require.NoError(t, err)
		rows, err := collect(src)
		if err != io.EOF || len(rows) == 0 || rows[0].Columns == 0 {
			return
		}
		requireRows(t, rows, decode(t, convert.NPZ, encode(t, convert.NPZ, rows), convert.ReadOptions{}))
	})
}

func seedWith(f *testing.F, extension string) {
	names, err := os.ReadDir("testdata")
	require.NoError(f, err)
	for _, name := range names {
		if strings.HasSuffix(name.Name(), extension) {
			data, err := os.ReadFile(filepath.Join("testdata", name.Name()))
			require.NoError(f, err)
			f.Add(data)
		}
	}
}
