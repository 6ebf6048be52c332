package convert

import (
	"fmt"
	"io"
)

// An npyReader reads the rows of a matrix in a .npy, or the elements of a vector as rows of one
// column.
type npyReader struct {
	array   *array
	opened  bool
	rows    int64
	columns int64
	next    int64 // row
	row     []float32
	all     []float32 // in Fortran order: the whole array
	err     error     // sticky
}

func (r *npyReader) Next() (Row, error) {
	if r.err == nil {
		r.err = r.read()
	}
	if r.err != nil {
		return Row{}, r.err
	}
	r.next++
	return Row{Columns: len(r.row), Values: r.row}, nil
}

// read reads the next row into r.row.
func (r *npyReader) read() (err error) {
	if !r.opened {
		r.opened = true
		if err := r.open(); err != nil {
			return err
		}
	}
	if r.next == r.rows {
		if err := r.array.end(); err != nil {
			return err
		}
		return io.EOF
	}
	if r.array.header.fortran && r.columns > 1 {
		r.row = r.row[:0]
		for i := r.next; i < int64(len(r.all)); i += r.rows {
			r.row = append(r.row, r.all[i])
		}
		return nil
	}
	r.row, err = r.array.appendFloats(r.row[:0], r.columns)
	if err != nil {
		return r.array.at(fmt.Sprintf(": row %d", r.next), err)
	}
	return nil
}

func (r *npyReader) open() error {
	if err := r.array.open(); err != nil {
		return err
	}
	switch shape := r.array.header.shape; len(shape) {
	case 1:
		r.rows, r.columns = shape[0], 1
	case 2:
		r.rows, r.columns = shape[0], shape[1]
	default:
		return r.array.at("", fmt.Errorf("an array of %d dimensions, want 1 or 2", len(shape)))
	}
	if r.rows > 0 && r.columns == 0 {
		return r.array.at("", fmt.Errorf("rows of no columns"))
	}
	size, err := r.array.size()
	if err == nil && r.array.header.fortran && r.columns > 1 {
		r.all, err = r.array.appendFloats(nil, size)
	}
	return r.array.at("", err)
}
