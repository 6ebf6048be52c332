package ndarray_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/ndarray"
)

// join lays out a file: numbers are little endian in their own width, strings are their bytes.
func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case nil: // the values of a none array
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, p); err != nil {
				panic(fmt.Sprintf("%T: %v", p, err))
			}
		}
	}
	return b
}

// fields is join for the int32 that most of the format is made of.
func fields(v ...int32) []byte { return join(v) }

const magic2, magic1 = uint32(0xF993FAC9), uint32(0xF993FAC8)

// dense is a version 2 array of two float32, up to its values.
func dense() []byte { return join(magic2, fields(0, 1), int64(2), fields(1, 0, 0)) }

// list is a file without names.
func list(arrays ...[]byte) []byte {
	return join(uint64(0x112), uint64(0), uint64(len(arrays)), bytes.Join(arrays, nil), uint64(0))
}

func read(data []byte) (*ndarray.File, error) {
	f := new(ndarray.File)
	_, err := f.ReadFrom(bytes.NewReader(data))
	return f, err
}

func mustRead(t require.TestingT, data []byte) *ndarray.File {
	f, err := read(data)
	require.NoError(t, err)
	return f
}

func write(t require.TestingT, f *ndarray.File) []byte {
	var b bytes.Buffer
	n, err := f.WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	return b.Bytes()
}

// values returns an array's values as their Go slice, whatever the type.
func values(t require.TestingT, a ndarray.Array) any {
	switch a.DType() {
	case ndarray.Float32:
		return valuesOf[float32](t, a)
	case ndarray.Float64:
		return valuesOf[float64](t, a)
	case ndarray.Float16:
		return valuesOf[ndarray.Half](t, a)
	case ndarray.Uint8:
		return valuesOf[uint8](t, a)
	case ndarray.Int32:
		return valuesOf[int32](t, a)
	case ndarray.Int8:
		return valuesOf[int8](t, a)
	case ndarray.Int64:
		return valuesOf[int64](t, a)
	case ndarray.Bool:
		return valuesOf[bool](t, a)
	}
	return nil
}

func valuesOf[T ndarray.Element](t require.TestingT, a ndarray.Array) []T {
	v, err := ndarray.Values[T](a)
	require.NoError(t, err)
	return v
}

// clientError is the house's question: is the data at fault?
func clientError(err error) bool {
	var c interface{ ClientError() bool }
	return errors.As(err, &c) && c.ClientError()
}
