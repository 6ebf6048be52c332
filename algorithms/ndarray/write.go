package ndarray

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// WriteTo writes the file, as mx.nd.save would: with names if the arrays have them, each array in its
// Format. It buffers, and returns the number of bytes that w took.
//
// An error that is the caller's comes before the first byte: that only some arrays have names, or that
// an array's Format cannot hold it.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	named, err := f.check()
	if err != nil {
		return 0, err
	}
	counted := &countingWriter{w: w}
	e := &encoder{w: bufio.NewWriterSize(counted, bufSize), chunk: make([]byte, 0, bufSize)}
	e.uint64(magicFile)
	e.uint64(0)
	e.uint64(uint64(len(f.Arrays)))
	for _, a := range f.Arrays {
		e.array(a)
	}
	if !named {
		e.uint64(0)
	} else {
		e.uint64(uint64(len(f.Arrays)))
		for _, a := range f.Arrays {
			e.uint64(uint64(len(a.Name)))
			e.w.WriteString(a.Name)
		}
	}
	err = e.w.Flush() // the first error of any write
	return counted.n, err
}

// check finds what the format cannot express, and whether the file has names.
func (f *File) check() (named bool, err error) {
	for i, a := range f.Arrays {
		if i > 0 && a.named() != named {
			return false, fmt.Errorf("ndarray: array %d: either all arrays have a name or none has", i)
		}
		named = a.named()
		if a.Format > V0 {
			return false, fmt.Errorf("ndarray: array %d: unknown format %d", i, a.Format)
		}
		if a.Format != V2 && a.storage != Dense {
			return false, fmt.Errorf("ndarray: array %d: %v has no %v storage", i, a.Format, a.storage)
		}
		for _, dim := range a.shape {
			if a.Format == V0 && uint64(dim) > math.MaxUint32 {
				return false, fmt.Errorf("ndarray: array %d: %v has no dimension of %d", i, a.Format, dim)
			}
		}
	}
	return named, nil
}

// An encoder writes the parts of a file. Its bufio.Writer keeps the first error for Flush.
type encoder struct {
	w     *bufio.Writer
	chunk []byte
}

func (e *encoder) array(a Array) {
	switch a.Format {
	case V2:
		e.uint32(magicV2)
		e.int32(int32(a.storage))
		if a.storage.auxCount() > 0 {
			stored, _ := a.stored() // nil for a none array
			e.shape(stored)
		}
		e.shape(a.shape)
	case V1:
		e.uint32(magicV1)
		e.shape(a.shape)
	case V0:
		e.uint32(uint32(len(a.shape)))
		for _, dim := range a.shape {
			e.uint32(uint32(dim))
		}
	}
	if len(a.shape) == 0 {
		return
	}
	e.device(a.device)
	e.int32(int32(a.DType()))
	for _, x := range a.aux {
		e.int32(int32(Int64))
		e.shape([]int{len(x)})
	}
	e.values(a.values)
	for _, x := range a.aux {
		e.values(vectorOf[int64](x))
	}
}

func (e *encoder) shape(shape []int) {
	e.int32(int32(len(shape)))
	for _, dim := range shape {
		e.uint64(uint64(dim))
	}
}

func (e *encoder) device(d device) {
	if d == (device{}) {
		d.kind = deviceCPU
	}
	e.int32(d.kind)
	e.int32(d.id)
}

func (e *encoder) values(v vector) {
	v.chunks(e.chunk, func(b []byte) { e.w.Write(b) })
}

func (e *encoder) int32(v int32) { e.uint32(uint32(v)) }

func (e *encoder) uint32(v uint32) {
	e.w.Write(binary.LittleEndian.AppendUint32(e.w.AvailableBuffer(), v))
}

func (e *encoder) uint64(v uint64) {
	e.w.Write(binary.LittleEndian.AppendUint64(e.w.AvailableBuffer(), v))
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
