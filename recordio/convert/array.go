package convert

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// chunk is how many bytes are asked for at a time: the most that a header can make us allocate.
const chunk = 64 << 10

// An array reads the elements of a .npy one after the other.
type array struct {
	name   string // for errors
	src    *bufio.Reader
	header npyHeader
	dtype  dtype
	buf    []byte
}

func newArray(name string, src io.Reader) *array {
	return &array{name: name, src: bufio.NewReaderSize(src, chunk)}
}

// open reads the header.
func (a *array) open() (err error) {
	if a.header, err = readNPYHeader(a.src); err == nil {
		a.dtype, err = parseDtype(a.header.descr)
	}
	return a.at("", err)
}

// at places an error in the array. It is the data's fault unless the source itself failed.
func (a *array) at(place string, err error) error {
	if err == nil {
		return nil
	}
	var source sourceError
	if errors.As(err, &source) && !isCorrupt(source.error) {
		return fmt.Errorf("%s: %w", a.name+place, source.error)
	}
	return &Error{Place: a.name + place, Err: err}
}

// size returns the number of elements that the header claims.
func (a *array) size() (int64, error) {
	product := int64(1)
	for _, extent := range a.header.shape {
		if extent != 0 && product > math.MaxInt64/8/extent {
			return 0, fmt.Errorf("the shape %v overflows", a.header.shape)
		}
		product *= extent
	}
	return product, nil
}

// vector returns the number of elements of an array that must have one dimension.
func (a *array) vector() (int64, error) {
	if len(a.header.shape) != 1 {
		return 0, a.at("", fmt.Errorf("shape %v, want one dimension", a.header.shape))
	}
	return a.header.shape[0], nil
}

// each calls do with the bytes of the next n elements, some at a time.
func (a *array) each(n int64, do func(raw []byte) error) error {
	if a.buf == nil {
		a.buf = make([]byte, chunk)
	}
	size := int64(a.dtype.size)
	for most := chunk / size; n > 0; {
		take := min(n, most)
		raw := a.buf[:take*size]
		if err := readFull(a.src, raw); err != nil {
			return err
		}
		if err := do(raw); err != nil {
			return err
		}
		n -= take
	}
	return nil
}

// appendFloats appends the next n elements to dst.
func (a *array) appendFloats(dst []float32, n int64) ([]float32, error) {
	err := a.each(n, func(raw []byte) (err error) {
		dst, err = a.dtype.appendFloats(dst, raw)
		return err
	})
	return dst, err
}

// appendInts appends the next n elements, which must be integers, to dst.
func (a *array) appendInts(dst []int64, n int64) ([]int64, error) {
	if a.dtype.kind != 'i' && a.dtype.kind != 'u' {
		return dst, fmt.Errorf("elements of type %q, want integers", a.header.descr)
	}
	err := a.each(n, func(raw []byte) error {
		for ; len(raw) > 0; raw = raw[a.dtype.size:] {
			x := int64(a.dtype.bits(raw))
			if a.dtype.kind == 'u' && x < 0 {
				return fmt.Errorf("%d is too large", uint64(x))
			}
			dst = append(dst, x)
		}
		return nil
	})
	return dst, err
}

// end checks that nothing is behind the last element.
func (a *array) end() error {
	switch _, err := a.src.ReadByte(); err {
	case io.EOF:
		return nil
	case nil:
		return a.at("", fmt.Errorf("data behind an array of shape %v", a.header.shape))
	default:
		return a.at("", sourceError{err})
	}
}

// bits returns the first element of raw: an integer with its sign extended, or a float's bits.
func (t dtype) bits(raw []byte) uint64 {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.big {
		order = binary.BigEndian
	}
	signed := t.kind == 'i'
	switch t.size {
	case 1:
		if signed {
			return uint64(int8(raw[0]))
		}
		return uint64(raw[0])
	case 2:
		if x := order.Uint16(raw); signed {
			return uint64(int16(x))
		} else {
			return uint64(x)
		}
	case 4:
		if x := order.Uint32(raw); signed {
			return uint64(int32(x))
		} else {
			return uint64(x)
		}
	}
	return order.Uint64(raw)
}

func (t dtype) appendFloats(dst []float32, raw []byte) ([]float32, error) {
	for ; len(raw) > 0; raw = raw[t.size:] {
		bits := t.bits(raw)
		var x float32
		switch {
		case t.kind == 'f' && t.size == 4:
			x = math.Float32frombits(uint32(bits))
		case t.kind == 'f':
			wide := math.Float64frombits(bits)
			x = float32(wide)
			if !isFinite(x) && !math.IsInf(wide, 0) && wide == wide {
				return dst, fmt.Errorf("%g is too large for float32", wide)
			}
		case t.kind == 'i':
			x = float32(int64(bits))
		case t.kind == 'b' && bits > 0:
			x = 1
		default:
			x = float32(bits)
		}
		dst = append(dst, x)
	}
	return dst, nil
}
