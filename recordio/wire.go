package recordio

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of aialgs.data.Record and of the messages in it.
const (
	recordFeatures, recordLabel = 1, 2
	recordUID, recordConfig     = 3, 5 // metadata is between them
	entryKey, entryValue        = 1, 2
	tensorValues                = 1
	tensorKeys                  = 2
	tensorShape                 = 3
)

// The kinds of tensor are the field numbers of a Value's oneof.
const (
	noTensor      = 0
	float32Tensor = 2
	float64Tensor = 3
	int32Tensor   = 7
)

// A tensor is the wire form of one: its packed fields, which are parts of the payload.
type tensor struct {
	kind                protowire.Number
	values, keys, shape []byte // nil where absent or empty
}

// rowTensors is what a row is made of.
type rowTensors struct {
	feature, label tensor
}

// walk finds the named feature and the label "values" in the wire form of a Record. It knows the
// form that writers produce, in which every field stands at most once, in order where order
// matters, and packed. It returns false for all else, well-formed or not.
func walk(payload []byte, feature string) (t rowTensors, ok bool) {
	for len(payload) > 0 {
		number, field, rest, ok := consume(payload)
		if !ok {
			return t, false
		}
		payload = rest
		switch {
		case number == recordFeatures:
			ok = walkEntry(field, feature, &t.feature)
		case number == recordLabel:
			ok = walkEntry(field, defaultName, &t.label)
		case number < recordUID || number > recordConfig:
			ok = false
		}
		if !ok {
			return t, false
		}
	}
	return t, t.feature.kind != noTensor
}

// walkEntry walks a map entry, and sets t to its value if it has the given name.
func walkEntry(entry []byte, name string, t *tensor) bool {
	number, key, rest, ok := consume(entry)
	if !ok || number != entryKey {
		return false
	}
	number, value, rest, ok := consume(rest)
	if !ok || number != entryValue || len(rest) > 0 {
		return false
	}
	found, ok := walkValue(value)
	if string(key) != name {
		return ok && found.valid()
	}
	if t.kind != noTensor {
		return false // twice: which one counts is not for this code to know
	}
	*t = found
	return ok
}

// walkValue walks a Value that is a numeric tensor.
func walkValue(value []byte) (t tensor, ok bool) {
	number, body, rest, ok := consume(value)
	if !ok || len(rest) > 0 {
		return t, false
	}
	switch number {
	case float32Tensor, float64Tensor, int32Tensor:
		t.kind = number
	default:
		return t, false
	}
	for len(body) > 0 {
		number, field, rest, ok := consume(body)
		if !ok {
			return t, false
		}
		body = rest
		var into *[]byte
		switch number {
		case tensorValues:
			into = &t.values
		case tensorKeys:
			into = &t.keys
		case tensorShape:
			into = &t.shape
		}
		if into == nil || *into != nil {
			return t, false
		}
		if len(field) > 0 {
			*into = field
		}
	}
	switch t.kind {
	case float32Tensor:
		ok = len(t.values)%4 == 0
	case float64Tensor:
		ok = len(t.values)%8 == 0
	}
	return t, ok
}

// consume splits off a length-delimited field. Other fields, and malformed ones, are not ok.
func consume(b []byte) (number protowire.Number, field, rest []byte, ok bool) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 || kind != protowire.BytesType {
		return 0, nil, nil, false
	}
	field, m := protowire.ConsumeBytes(b[n:])
	if m < 0 {
		return 0, nil, nil, false
	}
	return number, field, b[n+m:], true
}

// valid reports whether the packed fields, which walkValue does not look into, are well-formed.
func (t tensor) valid() bool {
	return validVarints(t.keys) && validVarints(t.shape) && (t.kind != int32Tensor || validVarints(t.values))
}

func validVarints(b []byte) bool {
	for len(b) > 0 {
		_, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// countVarints returns the number of varints in b: of bytes without the continuation bit.
func countVarints(b []byte) (count int) {
	for _, c := range b {
		if c < 0x80 {
			count++
		}
	}
	return count
}

// count returns the number of values.
func (t tensor) count() int {
	switch t.kind {
	case float32Tensor:
		return len(t.values) / 4
	case float64Tensor:
		return len(t.values) / 8
	}
	return countVarints(t.values)
}

// appendValues appends the values, as float32, to dst.
func (t tensor) appendValues(dst []float32) ([]float32, error) {
	switch t.kind {
	case float32Tensor:
		return appendFloat32s(dst, t.values), nil
	case float64Tensor:
		for b := t.values; len(b) > 0; b = b[8:] {
			x := math.Float64frombits(binary.LittleEndian.Uint64(b))
			narrow := float32(x)
			if math.IsInf(float64(narrow), 0) && !math.IsInf(x, 0) {
				return dst, fmt.Errorf("%g is too large for float32", x)
			}
			dst = append(dst, narrow)
		}
	case int32Tensor:
		for b := t.values; len(b) > 0; {
			x, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return dst, errMalformed
			}
			dst = append(dst, float32(int32(x)))
			b = b[n:]
		}
	}
	return dst, nil
}

var errMalformed = fmt.Errorf("not a Record: malformed varint")

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// appendFloat32s appends the little-endian float32 in src to dst.
func appendFloat32s(dst []float32, src []byte) []float32 {
	begin, n := len(dst), len(src)/4
	if cap(dst)-begin < n {
		dst = append(dst, make([]float32, n)...)
	}
	dst = dst[:begin+n]
	if n == 0 {
		return dst
	}
	if littleEndian {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&dst[begin])), 4*n), src)
		return dst
	}
	for i := range n {
		dst[begin+i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return dst
}

// appendFloat32Bytes appends the little-endian bytes of src to dst.
func appendFloat32Bytes(dst []byte, src []float32) []byte {
	if littleEndian && len(src) > 0 {
		return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(&src[0])), 4*len(src))...)
	}
	for _, x := range src {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}
