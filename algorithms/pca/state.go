package pca

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// stateVersion is of the form in which a scatter is written: the version, d and n, the pilot, the sum, and the
// upper triangle of outer by rows; numbers of 8 bytes in little endian.
const stateVersion = 1

// WriteTo writes what observe has summed so far.
func (s *scatter) WriteTo(w io.Writer) (int64, error) {
	out := numberWriter{w: w}
	out.write([]float64{stateVersion, float64(s.d), s.n})
	if s.outer != nil {
		out.write(s.pilot)
		out.write(s.sum)
		for i := range s.d {
			out.write(s.triangle(i))
		}
	}
	return out.n, out.err
}

// ReadFrom replaces the statistic by what WriteTo has written.
func (s *scatter) ReadFrom(r io.Reader) (int64, error) {
	in := numberReader{r: r}
	var head [3]float64
	in.read(head[:])
	d := int(head[1])
	switch {
	case in.err != nil:
		return in.n, in.err
	case head[0] != stateVersion:
		return in.n, fmt.Errorf("pca: state of version %v, and this program reads version %d", head[0], stateVersion)
	case float64(d) != head[1] || d < 0 || d > maxFeatures || !(head[2] >= 0):
		return in.n, fmt.Errorf("pca: %v rows of %v features are no state", head[2], head[1])
	}
	var read scatter
	if d > 0 {
		pilot, sum, triangle := in.grow(d), in.grow(d), in.grow(d*(d+1)/2)
		if in.err != nil {
			return in.n, in.err
		}
		read.alloc(d)
		read.n = head[2]
		copy(read.pilot, pilot)
		copy(read.sum, sum)
		for i := range d {
			triangle = triangle[copy(read.triangle(i), triangle):]
		}
	}
	*s = read
	return in.n, nil
}

// triangle returns the part of a row of outer that is used.
func (s *scatter) triangle(i int) []float64 {
	m := s.outer.RawSymmetric()
	return m.Data[i*m.Stride+i:][:s.d-i]
}

// A numberWriter writes float64s. After an error it does nothing.
type numberWriter struct {
	w     io.Writer
	n     int64
	err   error
	bytes []byte
}

func (w *numberWriter) write(numbers []float64) {
	if w.err != nil {
		return
	}
	w.bytes = w.bytes[:0]
	for _, x := range numbers {
		w.bytes = binary.LittleEndian.AppendUint64(w.bytes, math.Float64bits(x))
	}
	n, err := w.w.Write(w.bytes)
	w.n, w.err = w.n+int64(n), err
}

// A numberReader reads float64s. After an error it does nothing.
type numberReader struct {
	r     io.Reader
	n     int64
	err   error
	bytes []byte
}

func (r *numberReader) read(numbers []float64) {
	if r.err != nil {
		return
	}
	if need := 8 * len(numbers); need > len(r.bytes) {
		r.bytes = make([]byte, need)
	}
	n, err := io.ReadFull(r.r, r.bytes[:8*len(numbers)])
	r.n += int64(n)
	if err == io.EOF && len(numbers) > 0 {
		err = io.ErrUnexpectedEOF
	}
	r.err = err
	if err != nil {
		return
	}
	for i := range numbers {
		numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.bytes[8*i:]))
	}
}

// grow reads n numbers into memory that grows with what arrives, not with what a head claims.
func (r *numberReader) grow(n int) []float64 {
	var numbers []float64
	for len(numbers) < n && r.err == nil {
		begin := len(numbers)
		numbers = append(numbers, make([]float64, min(n-begin, 1<<13))...)
		r.read(numbers[begin:])
		if r.err == nil && !finite(numbers[begin:]) {
			r.err = errors.New("pca: numbers that are NaN or infinite are no state")
		}
	}
	return numbers
}

// finite reports whether no number is NaN or infinite.
func finite(numbers []float64) bool {
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
