package pca

import (
	"fmt"
	"io"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/ndarray"
)

// A Model is k components of d features, as the model file model_algo-1 holds them
// (builtin-algorithms, 2.3). Regular mode orders components by ascending singular value: the
// first principal component is the last column.
type Model struct {
	S    []float32      // k singular values of the data, centred when Mean is there; not divided by the number of rows
	V    blas32.General // d×k; column j is component j, of length 1, its largest entry positive
	Mean []float32      // d column means; nil when the mean was not subtracted
}

func newModel(d, k int, mean []float64) *Model {
	m := &Model{S: make([]float32, k), V: blas32.General{Rows: d, Cols: k, Stride: k, Data: make([]float32, d*k)}}
	if mean != nil {
		m.Mean = make([]float32, d)
		for j, x := range mean {
			m.Mean[j] = float32(x)
		}
	}
	return m
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

// Project writes the projections of the rows of x, n×d, to dst, n×k: (x−mean)·v, in the order of
// the model's components (builtin-algorithms, 2.4). It panics where the shapes do not match.
func (m *Model) Project(dst, x blas32.General) {
	if x.Cols != m.V.Rows || dst.Cols != m.V.Cols || dst.Rows != x.Rows {
		panic(fmt.Sprintf("pca: project %d×%d onto %d×%d into %d×%d", x.Rows, x.Cols, m.V.Rows, m.V.Cols, dst.Rows, dst.Cols))
	}
	if m.Mean != nil {
		centred := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
		for i := range x.Rows {
			for j, mean := range m.Mean {
				centred.Data[i*x.Cols+j] = x.Data[i*x.Stride+j] - mean
			}
		}
		x = centred
	}
	blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, x, m.V, 0, dst)
}
