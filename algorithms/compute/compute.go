package compute

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
)

// An Engine does the numerical work of training. Its methods may be called by several goroutines at
// once; the state that one of them returns belongs to one goroutine at a time. Matrices whose shapes do
// not fit panic.
type Engine interface {
	// Name says what computes, such as "cpu (avx512, 2 threads)".
	Name() string
	// NewGram returns the empty statistic of rows as wide as the pilot, which is copied.
	NewGram(pilot []float32) Gram
	// NewCenters returns k×d centers, which are copied.
	NewCenters(c blas32.General) Centers
	// NewLinear returns the models of c, whose weights and biases are 0.
	NewLinear(c LinearConfig) Linear
	// Multiply adds x·b to c, or xᵀ·b where transposed.
	Multiply(transposed bool, x Matrix, b, c blas32.General)
}

// A Gram is the count, the sum and the sum of outer products of rows about a pilot, a point near the
// rows' mean, which keeps what is far from the origin from cancelling.
type Gram interface {
	// Add adds the rows of x, n×d.
	Add(x Matrix)
	// Sums adds what the rows come to since the last call, and forgets it: their number is returned, Σ(x−pilot) is added to sum, of
	// length d, and Σ(x−pilot)(x−pilot)ᵀ to outer, d×d row by row, whose lower triangle stays as it is.
	Sums(sum, outer []float64) (n int64)
}

// Centers are the k centers of a clustering.
type Centers interface {
	// Set replaces the centers; c is k×d, and is copied.
	Set(c blas32.General)
	// Assign writes the nearest center of each row of x, the lower of two at the same distance, to nearest, and its squared
	// Euclidean distance to distance. Either may be nil.
	Assign(x Matrix, nearest []int32, distance []float32)
	// AssignAndSum adds each row of x to the sum of its nearest center, and its weight to that center's; sums is
	// k×d row by row, weights of length k. A nil weight is 1 for each row. It returns the weighted sum of the squared distances.
	AssignAndSum(x Matrix, weight []float32, sums, weights []float64) (loss float64)
	// Distances writes the squared Euclidean distance of row i to center j to dst, n×k.
	Distances(x Matrix, dst blas32.General)
}

// A Matrix is rows of data: those of S where it is not nil, which are sparse, and those of X otherwise.
type Matrix struct {
	X blas32.General
	S *algorithms.CSR
}

// Of returns the rows of a batch, which share its memory.
func Of(b *algorithms.Batch) Matrix {
	if len(b.S.Indptr) > 0 {
		return Matrix{S: &b.S}
	}
	return Matrix{X: b.X}
}

// Rows returns the number of rows.
func (m Matrix) Rows() int {
	if m.S != nil {
		return len(m.S.Indptr) - 1
	}
	return m.X.Rows
}

// Cols returns the number of columns.
func (m Matrix) Cols() int {
	if m.S != nil {
		return m.S.Cols
	}
	return m.X.Cols
}
