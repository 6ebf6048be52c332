package kmeans

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/ndarray"
)

// A Model is k centers of d features, as the model file model_algo-1 holds them. Its methods but ReadFrom may
// be called by several goroutines at once.
type Model struct {
	Centers blas32.General // k×d; row i is the center of cluster i
}

// WriteTo writes the model file: an MXNet NDArray file of one array without a name (builtin-algorithms, 3.3).
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	c := packed(m.Centers)
	file := ndarray.File{Arrays: []ndarray.Array{ndarray.New("", c.Data, c.Rows, c.Cols)}}
	return file.WriteTo(w)
}

// ReadFrom reads a model file to the end of r: one of WriteTo, of SageMaker, or any NDArray file of one matrix of
// float32 or float64. After an error the model is unchanged.
func (m *Model) ReadFrom(r io.Reader) (int64, error) {
	var file ndarray.File
	n, err := file.ReadFrom(r)
	if err != nil {
		return n, err
	}
	read, err := modelOf(&file)
	if err != nil {
		return n, err
	}
	*m = read
	return n, nil
}

// modelOf returns what a file holds that is a model.
func modelOf(file *ndarray.File) (Model, error) {
	if len(file.Arrays) != 1 {
		return Model{}, formatError(fmt.Sprintf("a file of %d arrays is no model, which is one", len(file.Arrays)))
	}
	centers, shape, err := matrix(file.Arrays[0])
	if err != nil {
		return Model{}, err
	}
	s := State{K: shape[0], D: shape[1], Centers: centers}
	return Model{s.narrow()}, nil
}

// A formatError says why a file is neither a model nor a state.
type formatError string

func (e formatError) Error() string     { return "kmeans: " + string(e) }
func (e formatError) ClientError() bool { return true }

// matrix returns the numbers of a dense matrix, and its shape.
func matrix(a ndarray.Array) ([]float64, []int, error) {
	shape := a.Shape()
	if len(shape) != 2 || shape[0] < 1 || shape[1] < 1 || a.Storage() != ndarray.Dense {
		return nil, nil, formatError(fmt.Sprintf("array %q of shape %v and storage %v is no matrix of centers", a.Name, shape, a.Storage()))
	}
	if a.DType() == ndarray.Float64 {
		values, err := ndarray.Values[float64](a)
		return values, shape, err
	}
	values, err := ndarray.Values[float32](a)
	if err != nil {
		return nil, nil, fmt.Errorf("kmeans: %w", err)
	}
	wide := make([]float64, len(values))
	for i, x := range values {
		wide[i] = float64(x)
	}
	return wide, shape, nil
}

// Predict writes the number of the nearest center of each row to nearest, the lower of two at the same distance, and the
// Euclidean distance to it, which is not squared, to distance (builtin-algorithms, 3.4). Either may be nil; the other is as long as
// x has rows. It panics where the shapes do not match.
func (m *Model) Predict(x compute.Matrix, nearest []int32, distance []float32) {
	m.check(x)
	n := x.Rows()
	if nearest != nil && len(nearest) != n || distance != nil && len(distance) != n {
		panic(fmt.Sprintf("kmeans: predict %d rows into %d and %d", n, len(nearest), len(distance)))
	}
	compute.Default().NewCenters(m.Centers).Assign(x, nearest, distance)
	root(distance)
}

// Transform writes the Euclidean distances of the rows of x, n×d, to all centers to dst, n×k. It panics where the shapes do
// not match.
func (m *Model) Transform(x compute.Matrix, dst blas32.General) {
	m.check(x)
	if dst.Rows != x.Rows() || dst.Cols != m.Centers.Rows {
		panic(fmt.Sprintf("kmeans: distances of %d rows to %d centers into %d×%d", x.Rows(), m.Centers.Rows, dst.Rows, dst.Cols))
	}
	compute.Default().NewCenters(m.Centers).Distances(x, dst)
	for i := range dst.Rows {
		root(dst.Data[i*dst.Stride:][:dst.Cols])
	}
}

func (m *Model) check(x compute.Matrix) {
	if x.Cols() != m.Centers.Cols {
		panic(fmt.Sprintf("kmeans: rows of %d features and centers of %d", x.Cols(), m.Centers.Cols))
	}
}

// root replaces squared distances by distances.
func root(distance []float32) {
	for i, d := range distance {
		distance[i] = float32(math.Sqrt(float64(d)))
	}
}

// packed returns the matrix with its rows next to each other, in its own memory where they are.
func packed(c blas32.General) blas32.General {
	if c.Stride == c.Cols {
		c.Data = c.Data[:c.Rows*c.Cols]
		return c
	}
	p := blas32.General{Rows: c.Rows, Cols: c.Cols, Stride: c.Cols}
	for i := range c.Rows {
		p.Data = append(p.Data, c.Data[i*c.Stride:][:c.Cols]...)
	}
	return p
}
