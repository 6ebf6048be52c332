package ndarray

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A DType is the type of an array's elements, with MXNet's number for it.
type DType int32

// The types that a file may hold. None is the type of a none array and never in a file.
const (
	None    DType = -1
	Float32 DType = 0
	Float64 DType = 1
	Float16 DType = 2
	Uint8   DType = 3
	Int32   DType = 4
	Int8    DType = 5
	Int64   DType = 6
	Bool    DType = 7
)

var dtypeNames = [...]string{"float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"}

// String returns NumPy's name of the type.
func (t DType) String() string {
	switch {
	case t == None:
		return "none"
	case t < 0 || int(t) >= len(dtypeNames):
		return fmt.Sprintf("DType(%d)", int32(t))
	}
	return dtypeNames[t]
}

// A Half is the bits of a float16, an IEEE 754 binary16 number. The package does no arithmetic on it.
type Half uint16

// An Element is the Go type of a [DType]'s values.
type Element interface {
	float32 | float64 | Half | uint8 | int32 | int8 | int64 | bool
}

// dtypeOf is the inverse of Element's list.
func dtypeOf[T Element]() DType {
	switch any(*new(T)).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case Half:
		return Float16
	case uint8:
		return Uint8
	case int32:
		return Int32
	case int8:
		return Int8
	case int64:
		return Int64
	default:
		return Bool
	}
}

func sizeOf[T Element]() int { return binary.Size(*new(T)) }

// A vector is the values of one array, whatever their type.
type vector interface {
	dtype() DType
	count() int
	chunks(b []byte, yield func([]byte)) // the encoded values, a buffer b at a time
}

type vectorOf[T Element] []T

func (v vectorOf[T]) dtype() DType { return dtypeOf[T]() }
func (v vectorOf[T]) count() int   { return len(v) }

func (v vectorOf[T]) chunks(b []byte, yield func([]byte)) {
	for part := range slices.Chunk([]T(v), cap(b)/sizeOf[T]()) {
		yield(encode(b[:0], part))
	}
}

// encode appends values to b. Floats pass as bits, so a NaN keeps its payload.
func encode[T Element](b []byte, values []T) []byte {
	if halves, ok := any(values).([]Half); ok {
		for _, h := range halves {
			b = binary.LittleEndian.AppendUint16(b, uint16(h))
		}
		return b
	}
	b, err := binary.Append(b, binary.LittleEndian, values)
	if err != nil {
		panic(err) // every other Element has a fixed size
	}
	return b
}

// decode fills values from b, which has as many bytes as they need.
func decode[T Element](values []T, b []byte) {
	if halves, ok := any(values).([]Half); ok {
		for i := range halves {
			halves[i] = Half(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return
	}
	if _, err := binary.Decode(b, binary.LittleEndian, values); err != nil {
		panic(err) // as in encode
	}
}
