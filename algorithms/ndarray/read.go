package ndarray

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// ReadFrom reads one NDArray file, up to the end of r, in place of what f holds. It returns the number
// of bytes it took from r. After an error f is unchanged.
//
// Bytes that are not such a file give a [*FormatError]. It wraps [io.ErrUnexpectedEOF] if the input
// ends early, also when it is empty; bytes after the end of the file are an error. An error of r itself
// is wrapped with its place. Memory grows with the bytes that have arrived, never with the lengths that
// a file merely claims.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	counted := &countingReader{r: r}
	d := &decoder{r: bufio.NewReaderSize(counted, bufSize), array: -1}
	arrays := d.file()
	if d.err != nil {
		return counted.n, d.err
	}
	f.Arrays = arrays
	return counted.n, nil
}

// A decoder reads the parts of a file. Its first error stays: from then on it reads zeros, and loops
// over what it reads end.
type decoder struct {
	r     *bufio.Reader
	off   int64 // of the next byte
	taken int   // bytes of r's buffer that the last take returned
	array int   // being read, or -1
	err   error
}

func (d *decoder) file() []Array {
	if magic := d.uint64(); magic != magicFile {
		d.fail(0, "no NDArray file: it starts with %#x", magic)
	}
	if reserved := d.uint64(); reserved != 0 {
		d.fail(8, "the reserved field is %#x", reserved)
	}
	var arrays []Array
	for i, n := uint64(0), d.uint64(); i < n && d.err == nil; i++ {
		d.array = int(i)
		arrays = append(arrays, d.readArray())
	}
	d.array = -1
	d.names(arrays)
	d.end()
	return arrays
}

// names reads the names into the arrays. A file has a name for each of its arrays, or no names.
func (d *decoder) names(arrays []Array) {
	at := d.off
	n := d.uint64()
	if n != 0 && n != uint64(len(arrays)) {
		d.fail(at, "%d names for %d arrays", n, len(arrays))
	}
	for i := 0; i < int(n) && d.err == nil; i++ {
		d.array = i
		at := d.off
		size := d.uint64()
		if size > 1<<31-1 {
			d.fail(at, "a name of %d bytes", size)
			return
		}
		arrays[i].Name = string(read[uint8](d, int(size)))
		arrays[i].emptyName = size == 0
	}
	d.array = -1
}

func (d *decoder) end() {
	if d.err != nil {
		return
	}
	d.release()
	if b, err := d.r.Peek(1); len(b) > 0 {
		d.fail(d.off, "bytes after the end of the file")
	} else if err != io.EOF {
		d.broken(d.off, err)
	}
}

// readArray reads one array, without its name.
func (d *decoder) readArray() Array {
	start := d.off
	a, stored := d.header()
	if d.err != nil || len(a.shape) == 0 {
		return a
	}
	a.device = d.device()
	typeAt := d.off
	dtype := DType(d.int32())
	lens := d.auxLengths(a.storage)
	if d.err != nil {
		return a
	}

	want, err := layout(a.storage, a.shape, lens)
	if err != nil {
		d.fail(start, "%w", err)
	} else if a.storage != Dense && !slices.Equal(stored, want) {
		d.fail(start, "storage shape %v, want %v", stored, want)
	}
	if d.err != nil {
		return a
	}
	a.values = d.values(typeAt, dtype, elements(want))
	auxAt := d.off
	for _, n := range lens {
		a.aux = append(a.aux, read[int64](d, n))
	}
	if d.err != nil {
		return a
	}
	if err := a.checkIndices(); err != nil {
		d.fail(auxAt, "%w", err)
	}
	return a
}

// header reads format, storage, storage shape and shape. A shape of no dimensions is a none array,
// which ends there: so the specification, and the releases of MXNet that wrote V0 and V1. MXNet 1.9.1
// takes such an array for a scalar, if it is V0 or V1.
func (d *decoder) header() (a Array, stored []int) {
	start := d.off
	switch magic := d.uint32(); {
	case magic == magicV2:
		if a.storage = Storage(d.int32()); a.storage < Undefined || a.storage > CSR {
			d.fail(start+4, "unknown storage type %d", int32(a.storage))
			return a, nil
		}
		if a.storage.auxCount() > 0 {
			stored = d.shape()
		}
		a.shape = d.shape()
	case magic == magicV1:
		a.Format = V1
		a.shape = d.shape()
	case magic <= maxDims:
		a.Format = V0
		a.shape = d.dims(start, int64(magic), func() int64 { return int64(d.uint32()) })
	case magic == magicV3:
		d.fail(start, "format version 3 (NumPy shapes) is not supported")
	default:
		d.fail(start, "no array starts with %#x", magic)
	}
	if len(a.shape) == 0 && len(stored) > 0 {
		d.fail(start, "storage shape %v without a shape", stored)
	}
	if a.storage == Undefined && len(a.shape) > 0 {
		d.fail(start, "undefined storage of shape %v", a.shape)
	}
	return a, stored
}

func (d *decoder) shape() []int {
	at := d.off
	return d.dims(at, int64(d.int32()), d.int64)
}

func (d *decoder) dims(at, n int64, next func() int64) []int {
	if n < 0 || n > maxDims {
		d.fail(at, "%d dimensions", n)
	}
	if n == 0 || d.err != nil {
		return nil
	}
	shape := make([]int, n)
	for i := range shape {
		at := d.off
		dim := next()
		if shape[i] = int(dim); dim < 0 || int64(shape[i]) != dim {
			d.fail(at, "dimension %d is %d", i, dim)
		}
	}
	return shape
}

func (d *decoder) device() device {
	at := d.off
	dev := device{kind: d.int32(), id: d.int32()}
	if dev.kind <= 0 {
		d.fail(at, "unknown device type %d", dev.kind)
	}
	if dev == (device{kind: deviceCPU}) {
		return device{}
	}
	return dev
}

// auxLengths reads types and shapes of the index arrays.
func (d *decoder) auxLengths(s Storage) []int {
	lens := make([]int, s.auxCount())
	for i := range lens {
		at := d.off
		if dtype := DType(d.int32()); dtype != Int64 {
			d.fail(at, "indices of type %v, want int64", dtype)
		}
		at = d.off
		shape := d.shape()
		if len(shape) != 1 {
			d.fail(at, "indices of %d dimensions", len(shape))
			return nil
		}
		lens[i] = shape[0]
	}
	return lens
}

func (d *decoder) values(at int64, dtype DType, n int) vector {
	switch dtype {
	case Float32:
		return vectorOf[float32](read[float32](d, n))
	case Float64:
		return vectorOf[float64](read[float64](d, n))
	case Float16:
		return vectorOf[Half](read[Half](d, n))
	case Uint8:
		return vectorOf[uint8](read[uint8](d, n))
	case Int32:
		return vectorOf[int32](read[int32](d, n))
	case Int8:
		return vectorOf[int8](read[int8](d, n))
	case Int64:
		return vectorOf[int64](read[int64](d, n))
	case Bool:
		return vectorOf[bool](read[bool](d, n))
	}
	d.fail(at, "unknown dtype %d", int32(dtype))
	return nil
}

// read returns n values. Its slice doubles as they arrive: n is only what the file claims.
func read[T Element](d *decoder, n int) []T {
	var values []T
	size := sizeOf[T]()
	for have := 0; have < n; have = len(values) {
		m := min(n-have, bufSize/size)
		at := d.off
		b := d.take(m * size)
		if b == nil {
			return nil
		}
		if dtypeOf[T]() == Bool {
			if i := slices.IndexFunc(b, func(x byte) bool { return x > 1 }); i >= 0 {
				d.fail(at+int64(i), "bool of value %d", b[i])
				return nil
			}
		}
		if have+m > cap(values) {
			values = append(make([]T, 0, min(n, max(have+m, 2*cap(values)))), values...)
		}
		values = values[:have+m]
		decode(values[have:], b)
	}
	return values
}

func (d *decoder) int32() int32 { return int32(d.uint32()) }
func (d *decoder) int64() int64 { return int64(d.uint64()) }

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// take returns the next n bytes, at most bufSize, valid until the following call; nil after an error.
func (d *decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	d.release()
	b, err := d.r.Peek(n)
	if err != nil {
		d.broken(d.off+int64(len(b)), err)
		return nil
	}
	d.taken = n
	d.off += int64(n)
	return b
}

// release gives the bytes that take returned back to the buffer.
func (d *decoder) release() {
	d.r.Discard(d.taken) // cannot fail: they are buffered
	d.taken = 0
}

// fail records that the data at an offset is wrong.
func (d *decoder) fail(at int64, format string, args ...any) {
	if d.err == nil {
		d.err = &FormatError{Array: d.array, Offset: at, Err: fmt.Errorf(format, args...)}
	}
}

// broken records that the input ended early, or failed.
func (d *decoder) broken(at int64, err error) {
	if err == io.EOF {
		d.err = &FormatError{Array: d.array, Offset: at, Err: io.ErrUnexpectedEOF}
		return
	}
	d.err = fmt.Errorf("%s%w", place(d.array, at), err)
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
