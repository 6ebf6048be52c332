package pca

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A krylov is an orthonormal basis of what a block of vectors and its products with a symmetric matrix span: block
// Lanczos, each block orthogonal to all before it (Golub and Van Loan 2013, 10.3). Vectors are rows: both sides of
// every product are then read along their rows.
type krylov struct {
	matrix    blas64.General // d×d, both triangles
	block     int            // vectors that are added in a step
	basis     blas64.General // so many rows as there are
	projected blas64.General // basis·matrix·basisᵀ, whose lower triangle is known but for the last block
	last      blas64.General // of the last block's products, what lies along the next block: block×block
}

// newKrylov returns a basis of one block of random vectors, with room for a number of them. Its memory is that of the room.
func newKrylov(matrix blas64.General, block, room int) *krylov {
	s := &krylov{matrix: matrix, block: block, basis: general64(room, matrix.Rows), projected: general64(room, room)}
	s.basis.Rows = 0
	random := rand.New(rand.NewPCG(1, 1))
	next := general64(block, matrix.Rows)
	for i := range next.Data {
		next.Data[i] = random.NormFloat64()
	}
	orthonormalizeRows(next, nil)
	s.add(next)
	return s
}

// add makes the next block the last one.
func (s *krylov) add(rows blas64.General) {
	copy(s.basis.Data[s.basis.Rows*s.basis.Stride:], rows.Data)
	s.basis.Rows += rows.Rows
}

// newest returns the last block of the basis.
func (s *krylov) newest() blas64.General {
	return rowsOf64(s.basis, s.basis.Rows-s.block, s.basis.Rows)
}

// step multiplies the last block, and returns the next one, which is not in the basis yet.
func (s *krylov) step() blas64.General {
	next, along := general64(s.block, s.matrix.Cols), general64(s.block, s.basis.Rows)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, s.newest(), s.matrix, 0, next) // it is its own transpose
	s.subtract(next, along)
	for i := range s.block {
		copy(s.projected.Data[(s.basis.Rows-s.block+i)*s.projected.Stride:], along.Data[i*along.Stride:][:along.Cols])
	}
	s.last = general64(s.block, s.block)
	orthonormalizeRows(next, s.last.Data)
	// What rounding has left along the basis is small against the products, not against what remains of them: hence once more,
	// and once more yet for directions of which nothing but rounding remained, and that are new ones (Parlett 1998, 6.9).
	for range 2 {
		s.subtract(next, along)
		orthonormalizeRows(next, nil)
	}
	return next
}

// subtract takes from rows what lies along the basis, and writes how much that is of each vector to along.
func (s *krylov) subtract(rows, along blas64.General) {
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, rows, s.basis, 0, along)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, along, s.basis, 1, rows)
}

// ritz returns the largest k eigenvalues of the projection, ascending, their eigenvectors' coordinates as rows, and the
// largest of the residuals ‖Hv−θv‖; ok is false where there are none.
func (s *krylov) ritz(k int) (values []float64, turn blas64.General, residual float64, ok bool) {
	m := s.basis.Rows
	projected := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			projected.SetSym(i, j, s.projected.Data[i*s.projected.Stride+j])
		}
	}
	var eigen mat.EigenSym
	if !finite(projected.RawSymmetric().Data) || !eigen.Factorize(projected, true) {
		return nil, turn, 0, false
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	turn = mat.DenseCopyOf(vectors.Slice(0, m, m-k, m).T()).RawMatrix()
	rest, left := general64(k, s.block), blas64.General{Rows: k, Cols: s.block, Stride: turn.Stride, Data: turn.Data[m-s.block:]}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, left, s.last, 0, rest)
	for j := range k {
		residual = max(residual, blas64.Nrm2(rowOf64(rest, j)))
	}
	return eigen.Values(nil)[m-k:], turn, residual, true
}

// orthonormalizeRows replaces rows by an orthonormal basis of what they span, and of more where they are dependent, and
// writes the lower triangle that gives them back, unless it is nil.
func orthonormalizeRows(m blas64.General, lower []float64) {
	tau, size := make([]float64, m.Rows), make([]float64, 1)
	lapack64.Gelqf(m, tau, size, -1)
	work := make([]float64, max(int(size[0]), m.Rows))
	lapack64.Gelqf(m, tau, work, len(work))
	if lower != nil {
		for i := range m.Rows {
			copy(lower[i*m.Rows:][:i+1], m.Data[i*m.Stride:])
		}
	}
	lapack64.Orglq(m, tau, work, len(work))
}

func general64(rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: max(1, columns), Data: make([]float64, rows*columns)}
}

func rowsOf64(m blas64.General, i, j int) blas64.General {
	m.Data, m.Rows = m.Data[i*m.Stride:j*m.Stride], j-i
	return m
}

func rowOf64(m blas64.General, i int) blas64.Vector {
	return blas64.Vector{N: m.Cols, Inc: 1, Data: m.Data[i*m.Stride:][:m.Cols]}
}
