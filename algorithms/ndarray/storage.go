package ndarray

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// A Storage says which values of an array are stored, with MXNet's number for it.
type Storage int32

// The storages of the format. Undefined is accepted for none arrays only.
const (
	Undefined Storage = -1
	Dense     Storage = 0
	RowSparse Storage = 1
	CSR       Storage = 2
)

// String returns MXNet's name of the storage.
func (s Storage) String() string {
	switch s {
	case Undefined:
		return "undefined"
	case Dense:
		return "default"
	case RowSparse:
		return "row_sparse"
	case CSR:
		return "csr"
	}
	return fmt.Sprintf("Storage(%d)", int32(s))
}

// auxCount is the number of index arrays beside the values.
func (s Storage) auxCount() int { return max(int(s), 0) }

// auxSlice holds a row_sparse array's indices, or a csr array's indptr and indices.
type auxSlice [][]int64

// NewRowSparse returns an array of which only some rows are stored: data holds the rows whose numbers
// are in rows, so it has len(rows) times the product of shape[1:] elements. The slices are not copied.
// MXNet wants the rows in ascending order. NewRowSparse panics if lengths and shape disagree or a row
// number is not in the shape.
func NewRowSparse[T Element](name string, data []T, rows []int64, shape ...int) Array {
	a := Array{Name: name, storage: RowSparse, shape: slices.Clone(shape), values: vectorOf[T](data), aux: auxSlice{rows}}
	a.mustHold()
	return a
}

// NewCSR returns a matrix in compressed sparse row storage: row i has data[indptr[i]:indptr[i+1]] in
// the columns indices[indptr[i]:indptr[i+1]]. The slices are not copied. NewCSR panics unless indptr
// has rows+1 elements that rise from 0 to len(data), or is empty like data, and every index is a column.
func NewCSR[T Element](name string, data []T, indptr, indices []int64, rows, cols int) Array {
	a := Array{Name: name, storage: CSR, shape: []int{rows, cols}, values: vectorOf[T](data), aux: auxSlice{indptr, indices}}
	a.mustHold()
	return a
}

// Storage returns how the values are stored.
func (a Array) Storage() Storage { return a.storage }

// Indices returns the numbers of the stored rows of a row_sparse array, or of the stored columns of a
// csr array; nil otherwise. The slice is not a copy. In an array that was read every index is within
// the shape; their order is not checked.
func (a Array) Indices() []int64 {
	if len(a.aux) == 0 {
		return nil
	}
	return a.aux[len(a.aux)-1]
}

// Indptr returns where the rows of a csr array start in its values, and after the last where they
// end; nil for other storages. The slice is not a copy. It is empty in an array of zeros that MXNet
// never filled.
func (a Array) Indptr() []int64 {
	if a.storage != CSR || len(a.aux) == 0 {
		return nil
	}
	return a.aux[0]
}

// mustHold panics on an array that the constructor's caller got wrong.
func (a *Array) mustHold() {
	stored, err := a.stored()
	if n := elements(stored); err == nil && n != a.values.count() {
		err = fmt.Errorf("%d values for %d elements", a.values.count(), n)
	}
	if err == nil {
		err = a.checkIndices()
	}
	if err != nil {
		panic(fmt.Sprintf("ndarray: array %q of shape %v: %v", a.Name, a.shape, err))
	}
}

// stored returns the shape of the values that a stores.
func (a *Array) stored() ([]int, error) {
	lens := make([]int, len(a.aux))
	for i, x := range a.aux {
		lens[i] = len(x)
	}
	return layout(a.storage, a.shape, lens)
}

// maxDims is NumPy's limit before version 2, and so that of all arrays that Python could see. MXNet's
// loader has none.
const maxDims = 32

// layout returns the shape of the values that are stored, given the number of indices in each index
// array. Any array that it returns without an error can be counted and addressed.
func layout(s Storage, shape []int, aux []int) ([]int, error) {
	if len(shape) == 0 || len(shape) > maxDims {
		return nil, fmt.Errorf("%d dimensions", len(shape))
	}
	stored := shape
	switch s {
	case RowSparse:
		stored = slices.Concat(aux[:1], shape[1:])
	case CSR:
		if len(shape) != 2 {
			return nil, fmt.Errorf("csr of %d dimensions", len(shape))
		}
		if empty := aux[0] == 0 && aux[1] == 0; aux[0]-1 != shape[0] && !empty {
			return nil, fmt.Errorf("indptr of %d for %d rows", aux[0], shape[0])
		}
		stored = aux[1:]
	}
	if elements(shape) < 0 || elements(stored) < 0 {
		return nil, fmt.Errorf("shape %v is negative or too large", shape)
	}
	return stored, nil
}

// elements returns the product of the dimensions, or -1 if one is negative or if the product, times
// the largest element, is more than an int can hold.
func elements(shape []int) int {
	n, zero := uint(1), false
	for _, dim := range shape {
		if dim < 0 {
			return -1
		}
		zero = zero || dim == 0
	}
	if zero {
		return 0
	}
	for _, dim := range shape {
		over, product := bits.Mul(n, uint(dim))
		if over != 0 || product > math.MaxInt/8 {
			return -1
		}
		n = product
	}
	return int(n)
}

// checkIndices is what makes the indices of an array that was read safe to follow.
func (a *Array) checkIndices() error {
	indices, within := a.Indices(), 0
	switch a.storage {
	case RowSparse:
		within = a.shape[0]
	case CSR:
		within = a.shape[1]
		if err := checkIndptr(a.aux[0], len(indices)); err != nil {
			return err
		}
	}
	for i, x := range indices {
		if x < 0 || x >= int64(within) {
			return fmt.Errorf("index %d is %d, not below %d", i, x, within)
		}
	}
	return nil
}

func checkIndptr(indptr []int64, values int) error {
	if len(indptr) == 0 { // layout has seen that there are no values
		return nil
	}
	if indptr[0] != 0 || indptr[len(indptr)-1] != int64(values) {
		return fmt.Errorf("indptr runs from %d to %d, not from 0 to %d", indptr[0], indptr[len(indptr)-1], values)
	}
	if !slices.IsSorted(indptr) {
		return errors.New("indptr is not ascending")
	}
	return nil
}
