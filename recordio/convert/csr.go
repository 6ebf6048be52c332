package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// A csrReader reads the rows of a sparse matrix as scipy.sparse.save_npz writes it: indptr says
// where each row begins in indices, its columns, and data. The three are read side by side.
type csrReader struct {
	indptr, indices, data *array

	rows, columns int64
	next          int64 // row
	begin, total  int64 // where the next row begins in indices, and their number
	keys          []int32
	values        []float32
	ints          []int64
	sorted        []int32
}

// startCSR opens the arrays of a sparse matrix.
func (r *npzReader) startCSR() (Reader, error) {
	if err := r.checkCSRFormat(); err != nil {
		return nil, err
	}
	m := &csrReader{keys: []int32{}}
	shape, err := r.array("shape")
	if err != nil {
		return nil, err
	}
	if err := m.readShape(shape); err != nil {
		return nil, err
	}
	var errs [3]error
	m.indptr, errs[0] = r.array("indptr")
	m.indices, errs[1] = r.array("indices")
	m.data, errs[2] = r.array("data")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return m, m.open()
}

// checkCSRFormat checks the array that names the form of the matrix.
func (r *npzReader) checkCSRFormat() error {
	file, err := r.array("format")
	if err != nil {
		return err
	}
	header, err := readNPYHeader(file.src)
	if err != nil {
		return file.at("", err)
	}
	const most = 64
	name, err := io.ReadAll(io.LimitReader(file.src, most))
	if err != nil {
		return file.at("", sourceError{err})
	}
	// A text of NumPy's, of one or four bytes a character.
	if name = bytes.ReplaceAll(name, []byte{0}, nil); string(name) != "csr" {
		return file.at("", fmt.Errorf("a sparse matrix in the form %q (%s), want csr: call tocsr() on it", name, header.descr))
	}
	return nil
}

func (m *csrReader) readShape(a *array) error {
	if err := a.open(); err != nil {
		return err
	}
	n, err := a.vector()
	if err != nil {
		return err
	}
	if n != 2 {
		return a.at("", fmt.Errorf("%d dimensions, want 2", n))
	}
	shape, err := a.appendInts(nil, n)
	if err != nil {
		return a.at("", err)
	}
	m.rows, m.columns = shape[0], shape[1]
	if m.rows < 0 || m.columns < 0 || m.columns > math.MaxInt32 {
		return a.at("", fmt.Errorf("%d rows of %d columns", m.rows, m.columns))
	}
	return nil
}

// open reads the headers, and the beginning of the first row.
func (m *csrReader) open() error {
	var sizes [3]int64
	for i, a := range []*array{m.indptr, m.indices, m.data} {
		if err := a.open(); err != nil {
			return err
		}
		var err error
		if sizes[i], err = a.vector(); err != nil {
			return err
		}
	}
	if sizes[0]-1 != m.rows {
		return m.indptr.at("", fmt.Errorf("%d numbers for %d rows", sizes[0], m.rows))
	}
	if sizes[1] != sizes[2] {
		return m.indices.at("", fmt.Errorf("%d indices for %d values", sizes[1], sizes[2]))
	}
	m.total = sizes[1]
	first, err := m.indptr.appendInts(nil, 1)
	if err == nil && first[0] != 0 {
		err = fmt.Errorf("the first row begins at %d", first[0])
	}
	return m.indptr.at("", err)
}

func (m *csrReader) Next() (Row, error) {
	if m.next == m.rows {
		return Row{}, m.end()
	}
	place := fmt.Sprintf(": row %d", m.next)
	var err error
	if m.ints, err = m.indptr.appendInts(m.ints[:0], 1); err != nil {
		return Row{}, m.indptr.at(place, err)
	}
	end := m.ints[0]
	if end < m.begin || end > m.total {
		return Row{}, m.indptr.at(place, fmt.Errorf("it goes from %d to %d of %d", m.begin, end, m.total))
	}
	if m.ints, err = m.indices.appendInts(m.ints[:0], end-m.begin); err == nil {
		err = m.takeKeys()
	}
	if err != nil {
		return Row{}, m.indices.at(place, err)
	}
	if m.values, err = m.data.appendFloats(m.values[:0], end-m.begin); err != nil {
		return Row{}, m.data.at(place, err)
	}
	m.begin = end
	m.next++
	return Row{Columns: int(m.columns), Keys: m.keys, Values: m.values}, nil
}

// takeKeys turns m.ints into keys: in any order, but each once.
func (m *csrReader) takeKeys() error {
	m.keys = m.keys[:0]
	ascending, last := true, int64(-1)
	for _, key := range m.ints {
		if key < 0 || key >= m.columns {
			return fmt.Errorf("index %d in %d columns", key, m.columns)
		}
		ascending = ascending && key > last
		last = key
		m.keys = append(m.keys, int32(key))
	}
	if ascending {
		return nil
	}
	m.sorted = append(m.sorted[:0], m.keys...)
	slices.Sort(m.sorted)
	for i := 1; i < len(m.sorted); i++ {
		if m.sorted[i] == m.sorted[i-1] {
			return fmt.Errorf("index %d twice: call sum_duplicates() on the matrix", m.sorted[i])
		}
	}
	return nil
}

// end checks that the arrays end with the last row. Its error is io.EOF where they do.
func (m *csrReader) end() error {
	if m.begin != m.total {
		return m.indptr.at("", errors.New("the last row does not end with the indices"))
	}
	for _, a := range []*array{m.indptr, m.indices, m.data} {
		if err := a.end(); err != nil {
			return err
		}
	}
	return io.EOF
}
