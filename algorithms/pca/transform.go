package pca

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// Project writes the projections of the rows of x, n×d, to dst, n×k: (x−mean)·v, in the order of
// the model's components (builtin-algorithms, 2.4). It panics where the shapes do not match.
func (m *Model) Project(dst, x blas32.General) {
	if x.Cols != m.V.Rows || dst.Cols != m.V.Cols || dst.Rows != x.Rows {
		panic(fmt.Sprintf("pca: project %d×%d onto %d×%d into %d×%d", x.Rows, x.Cols, m.V.Rows, m.V.Cols, dst.Rows, dst.Cols))
	}
	if m.Mean != nil {
		centred := general(x.Rows, x.Cols)
		for i := range x.Rows {
			for j, mean := range m.Mean {
				centred.Data[i*x.Cols+j] = x.Data[i*x.Stride+j] - mean
			}
		}
		x = centred
	}
	for i := range dst.Rows {
		clear(dst.Data[i*dst.Stride:][:dst.Cols])
	}
	compute.Default().Multiply(false, compute.Matrix{X: x}, m.V, dst)
}

// Transform returns the projections of a batch's rows, dense or sparse, n×k. Sparse rows are not made dense as
// a whole. It panics where the batch has not as many features as the model.
func (m *Model) Transform(b *algorithms.Batch) blas32.General {
	projections := general(b.Rows(), m.V.Cols)
	m.inBlocks(compute.Of(b), func(first int, x blas32.General) {
		dst := projections
		dst.Rows, dst.Data = x.Rows, projections.Data[first*projections.Stride:]
		m.Project(dst, x)
	})
	return projections
}

// InverseTransform returns the rows, n×d, of which z, n×k, are the projections, as far as the components
// tell: z·vᵀ + mean. It panics where the shapes do not match.
func (m *Model) InverseTransform(z blas32.General) blas32.General {
	if z.Cols != m.V.Cols {
		panic(fmt.Sprintf("pca: rebuild from %d×%d with %d components", z.Rows, z.Cols, m.V.Cols))
	}
	x := general(z.Rows, m.V.Rows)
	for i := range x.Rows {
		copy(x.Data[i*x.Stride:], m.Mean)
	}
	compute.Default().Multiply(false, compute.Matrix{X: z}, transposed(m.V), x)
	return x
}

// SquaredError returns Σ‖(x−mean) − v·vᵀ(x−mean)‖² over the rows of x: what the components do not hold of them.
func (m *Model) SquaredError(x compute.Matrix) float64 {
	sum := 0.0
	m.inBlocks(x, func(_ int, x blas32.General) {
		projected := general(x.Rows, m.V.Cols)
		m.Project(projected, x)
		rebuilt := m.InverseTransform(projected)
		for i := range x.Rows {
			for j, r := range rebuilt.Data[i*x.Cols:][:x.Cols] {
				e := float64(x.Data[i*x.Stride+j]) - float64(r)
				sum += e * e
			}
		}
	})
	return sum
}

// inBlocks calls f with the rows, dense, a few MB of them at a time, and with the number of the first.
func (m *Model) inBlocks(x compute.Matrix, f func(first int, x blas32.General)) {
	d, n := x.Cols(), x.Rows()
	if d != m.V.Rows {
		panic(fmt.Sprintf("pca: rows of %d features with a model of %d", d, m.V.Rows))
	}
	step := max(1, 1<<20/max(1, d))
	var dense blas32.General
	for i := 0; i < n; i += step {
		rows := rowsOf(x, i, min(i+step, n))
		if rows.S == nil {
			f(i, rows.X)
			continue
		}
		if dense.Data == nil {
			dense = general(rows.Rows(), d)
		}
		clear(dense.Data)
		dense.Rows = rows.Rows()
		for r := range dense.Rows {
			columns, values := rows.S.Row(r)
			for l, j := range columns {
				dense.Data[r*d+int(j)] = values[l]
			}
		}
		f(i, dense)
	}
}

func transposed(m blas32.General) blas32.General {
	t := general(m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			t.Data[j*t.Stride+i] = m.Data[i*m.Stride+j]
		}
	}
	return t
}
