// Package ndarray reads and writes MXNet NDArray files, the files of mx.nd.save and mx.nd.load.
// SageMaker's PCA, K-Means and LDA artifacts are such a file; those of Linear Learner,
// Factorization Machines and the Neural Topic Model hold one inside a zip archive.
//
//	v, err := file.Array("v")
//	data, err := ndarray.Values[float32](v) // row major
//
// A [File] is a list of arrays, named (Python's loader returns a dict) or not (a list). An [Array]
// has a shape, one of eight element types and one of three storages: dense, row_sparse or csr.
// Arrays are written in format version 2, as MXNet 1.x does. Versions 0 and 1 are read as well; an
// array keeps the [Format] it was read in, and the device that it records, so that writing a file
// that was read gives the same bytes. Version 3, which MXNet loads only under NumPy-shape semantics,
// is refused.
//
// The layout is in section 1.9.1 of the specification of the built-in algorithms, and follows
// NDArray::Save and NDArray::Load in MXNet's src/ndarray/ndarray.cc. Everything is little endian.
//
// Two values of MXNet are out of reach here, and refused with an error: a bool that is neither 0 nor
// 1, and sparse indices of a type other than int64, which MXNet's own front ends do not make.
package ndarray

import (
	"fmt"
	"slices"
	"strings"
)

// A File is the content of one NDArray file. The zero File has no arrays and can be written.
type File struct {
	// Arrays in the order of the file. Either all have a name or none has.
	Arrays []Array
}

// Array returns the array with this name. Of several it is the last, as in a Python dict. That there
// is none is an error that lists the names there are; it blames the file (ClientError is true).
func (f *File) Array(name string) (Array, error) {
	for _, a := range slices.Backward(f.Arrays) {
		if a.Name == name && a.named() {
			return a, nil
		}
	}
	var names []string
	for _, a := range f.Arrays {
		if a.named() && len(names) < 16 { // a message, not an inventory
			names = append(names, fmt.Sprintf("%q", a.Name))
		}
	}
	if names == nil {
		return Array{}, contentError(fmt.Sprintf("ndarray: no array %q: the file has %d unnamed", name, len(f.Arrays)))
	}
	return Array{}, contentError(fmt.Sprintf("ndarray: no array %q: the file has %s", name, strings.Join(names, ", ")))
}

// An Array is one array of a file. The zero Array is "none": it has no shape, no type and no values.
//
// An Array is a small value that shares its values with its copies.
type Array struct {
	Name   string // empty in a file without names
	Format Format // how it was read and is to be written; 0 is version 2

	storage   Storage
	emptyName bool     // read from a file that has names, this one being ""
	device    device   // where MXNet held it
	shape     []int    // nil: none
	values    vector   // in the storage's shape; nil: none
	aux       auxSlice // sparse only, in the order of the file
}

// New returns a dense array of the given shape; without a shape it is a vector. The values are in row
// major order and are not copied: the array and the caller share data. New panics if the shape has
// another number of elements than data, or more than 32 dimensions.
func New[T Element](name string, data []T, shape ...int) Array {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	a := Array{Name: name, shape: slices.Clone(shape), values: vectorOf[T](data)}
	a.mustHold()
	return a
}

// Values returns the values that a stores, row major: for a dense array all of them, for a sparse one
// those that [NewRowSparse] and [NewCSR] describe. The slice is not a copy. If a holds another type
// than T, or is none, Values returns an error that blames the file (ClientError is true).
func Values[T Element](a Array) ([]T, error) {
	v, ok := a.values.(vectorOf[T])
	if !ok {
		return nil, contentError(fmt.Sprintf("ndarray: array %q holds %v, not %v", a.Name, a.DType(), dtypeOf[T]()))
	}
	return v, nil
}

// Shape returns a copy of the array's dimensions, nil for a none array. It is the logical shape, also
// where the storage is sparse.
func (a Array) Shape() []int { return slices.Clone(a.shape) }

// DType returns the type of the values, None for a none array.
func (a Array) DType() DType {
	if a.values == nil {
		return None
	}
	return a.values.dtype()
}

// named tells a name that is empty from no name.
func (a Array) named() bool { return a.Name != "" || a.emptyName }
