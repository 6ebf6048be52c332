package pca

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// sketchVersion is of the form in which a sketch is written: the version, d, ℓ, whether it is centred, the number of
// stacks, how many rows wait, -1 or how many numbers these have where they are sparse, n, the total, Δ, the mean, the
// squares, the directions, and the rows that wait: dense ones row by row, sparse ones as Indptr, Indices and Data. All are
// numbers of 8 bytes in little endian.
const sketchVersion = 2

// numbers returns what a host tells the others, of a sketch whose rows do not wait.
func (s *sketch) numbers() []float64 {
	numbers := append([]float64{s.n, s.total, s.lost}, s.mean...)
	numbers = append(numbers, s.values...)
	for _, x := range s.v.Data {
		numbers = append(numbers, float64(x))
	}
	return numbers
}

// setNumbers takes what numbers returned.
func (s *sketch) setNumbers(numbers []float64) {
	s.n, s.total, s.lost = numbers[0], numbers[1], numbers[2]
	numbers = numbers[3:]
	copy(s.mean, numbers)
	copy(s.values, numbers[s.d:])
	for i, x := range numbers[s.d+s.l:] {
		s.v.Data[i] = float32(x)
	}
}

// WriteTo writes what observe has learned so far.
func (s *sketch) WriteTo(w io.Writer) (int64, error) {
	out := numberWriter{w: w}
	center, stored := 0.0, -1
	if s.center {
		center = 1
	}
	if s.wait.S != nil {
		stored = len(s.wait.S.Data)
	}
	out.write([]float64{sketchVersion, float64(s.d), float64(s.l), center, float64(s.stacks), float64(s.wait.Rows()), float64(stored)})
	out.write(s.numbers())
	if s.wait.S != nil {
		writeAll(&out, s.wait.S.Indptr)
		writeAll(&out, s.wait.S.Indices)
		writeAll(&out, s.wait.S.Data)
	} else {
		writeAll(&out, s.wait.X.Data)
	}
	return out.n, out.err
}

// writeAll writes numbers of any kind.
func writeAll[T int | int32 | float32](w *numberWriter, numbers []T) {
	var block [1024]float64
	for len(numbers) > 0 {
		n := min(len(numbers), len(block))
		for i, x := range numbers[:n] {
			block[i] = float64(x)
		}
		w.write(block[:n])
		numbers = numbers[n:]
	}
}

// readAll reads n numbers of any kind.
func readAll[T int | int32 | float32](r *numberReader, n int) []T {
	numbers := r.grow(n)
	converted := make([]T, len(numbers))
	for i, x := range numbers {
		converted[i] = T(x)
	}
	return converted
}

// ReadFrom replaces the sketch by what WriteTo has written.
func (s *sketch) ReadFrom(r io.Reader) (int64, error) {
	in := numberReader{r: r}
	var head [7]float64
	in.read(head[:])
	if in.err != nil {
		return in.n, in.err
	}
	for _, x := range head {
		if x != math.Trunc(x) || x < -1 || x > 1<<53 {
			return in.n, fmt.Errorf("pca: %v is no state of a sketch", head)
		}
	}
	d, l, waiting, stored := int(head[1]), int(head[2]), int(head[5]), int(head[6])
	if head[0] != sketchVersion || l < 1 || d <= l || l > maxSketch/d || waiting < 0 {
		return in.n, fmt.Errorf("pca: %d directions of %d features, with %d rows that wait, are no state", l, d, waiting)
	}
	numbers := in.grow(3 + d + l + d*l)
	if in.err != nil {
		return in.n, in.err
	}
	read := newSketch(d, l, head[3] == 1, s.seed)
	read.stacks = int64(head[4])
	read.setNumbers(numbers)
	if slices.Min(read.values) < 0 || read.n < 0 || read.lost < 0 {
		return in.n, errors.New("pca: squares below zero are no state")
	}
	if stored >= 0 {
		csr := &algorithms.CSR{Cols: d, Indptr: readAll[int](&in, waiting+1), Indices: readAll[int32](&in, stored), Data: readAll[float32](&in, stored)}
		read.wait = compute.Matrix{S: csr}
		if in.err == nil && !consistent(csr) {
			in.err = fmt.Errorf("pca: the sparse rows of the state contradict each other")
		}
	} else if waiting > 0 {
		if waiting > maxSketch*waitingRows/d {
			return in.n, fmt.Errorf("pca: %d rows of %d features that wait are no state", waiting, d)
		}
		read.wait.X = general(0, d)
		read.wait.X.Data, read.wait.X.Rows = readAll[float32](&in, waiting*d), waiting
	}
	if in.err != nil {
		return in.n, in.err
	}
	*s = *read
	return in.n, nil
}

// consistent reports whether rows that were read can be worked with.
func consistent(m *algorithms.CSR) bool {
	before := 0
	for _, end := range m.Indptr {
		if end < before || end > len(m.Data) {
			return false
		}
		before = end
	}
	for _, column := range m.Indices {
		if column < 0 || int(column) >= m.Cols {
			return false
		}
	}
	return m.Indptr[0] == 0 && before == len(m.Data)
}
