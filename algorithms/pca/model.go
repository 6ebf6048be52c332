package pca

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec/algorithms/ndarray"
)

// A Model is k components of d features, as the model file model_algo-1 holds them
// (builtin-algorithms, 2.3). Regular mode orders components by ascending singular value, so that the
// first principal component is the last column; randomized mode by descending.
type Model struct {
	S    []float32      // k singular values of the data, centred when Mean is there; not divided by the number of rows
	V    blas32.General // d×k; column j is component j, of length 1, its largest entry positive
	Mean []float32      // d column means; nil when the mean was not subtracted

	// What the model file does not hold is 0 in a model that was read.
	Rows         int64   // rows that were learned from
	TotalSquares float64 // Σ‖x−Mean‖² over them; the squares of all d singular values together
}

// newModel returns the model of k singular values, descending, and their vectors, the columns of a d×k matrix.
func newModel(values []float64, vectors *mat.Dense, mean []float64, n, total float64, ascending bool) *Model {
	d, k := vectors.Dims()
	m := &Model{S: make([]float32, k), V: general(d, k), Rows: int64(n), TotalSquares: total}
	for rank, value := range values {
		column := rank
		if ascending {
			column = k - 1 - rank
		}
		m.S[column] = float32(value)
		sign := direction(vectors.ColView(rank))
		for i := range d {
			m.V.Data[i*k+column] = float32(sign * vectors.At(i, rank))
		}
	}
	if mean != nil {
		m.Mean = make([]float32, d)
		for j, x := range mean {
			m.Mean[j] = float32(x)
		}
	}
	return m
}

// direction returns the sign that makes the vector's largest entry positive.
func direction(v mat.Vector) float64 {
	largest := 0.0
	for i := range v.Len() {
		if x := v.AtVec(i); math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	return math.Copysign(1, largest)
}

// WriteTo writes the model file: an MXNet NDArray file of s, v and mean.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	d, k := m.V.Rows, m.V.Cols
	file := ndarray.File{Arrays: []ndarray.Array{
		ndarray.New("s", m.S, k),
		ndarray.New("v", m.V.Data, d, k),
	}}
	if m.Mean != nil {
		file.Arrays = append(file.Arrays, ndarray.New("mean", m.Mean, 1, d))
	}
	return file.WriteTo(w)
}

// ReadFrom reads a model file to the end of r: one of WriteTo or of SageMaker. After an error the
// model is unchanged.
func (m *Model) ReadFrom(r io.Reader) (int64, error) {
	var file ndarray.File
	n, err := file.ReadFrom(r)
	if err != nil {
		return n, err
	}
	s, sShape, err := readFloats(&file, "s")
	if err != nil {
		return n, err
	}
	v, vShape, err := readFloats(&file, "v")
	if err != nil {
		return n, err
	}
	if len(sShape) != 1 || len(vShape) != 2 || vShape[1] != sShape[0] {
		return n, fmt.Errorf("pca: s of shape %v and v of shape %v are no model", sShape, vShape)
	}
	read := Model{S: s, V: blas32.General{Rows: vShape[0], Cols: vShape[1], Stride: max(1, vShape[1]), Data: v}}
	if _, err := file.Array("mean"); err == nil {
		mean, shape, err := readFloats(&file, "mean")
		if err != nil {
			return n, err
		}
		if len(mean) != read.V.Rows {
			return n, fmt.Errorf("pca: mean of shape %v and v of shape %v are no model", shape, vShape)
		}
		read.Mean = mean
	}
	*m = read
	return n, nil
}

func readFloats(file *ndarray.File, name string) ([]float32, []int, error) {
	a, err := file.Array(name)
	if err != nil {
		return nil, nil, fmt.Errorf("pca: %w", err)
	}
	data, err := ndarray.Values[float32](a)
	if err != nil {
		return nil, nil, fmt.Errorf("pca: %w", err)
	}
	return data, a.Shape(), nil
}
