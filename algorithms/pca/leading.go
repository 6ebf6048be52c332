package pca

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Few components of many features are found by iteration; where that has not come to an end with so many vectors,
// it has cost a fraction of the time of decompose, which takes over.
const (
	leadingFeatures = 128   // fewer are decomposed at once
	leadingShare    = 8     // k is at most d divided by this
	leadingRoom     = 2     // so are the vectors of the basis,
	leadingVectors  = 512   // which are no more than this, or
	leadingTimes    = 8     // k times this
	leadingBlock    = 10    // vectors of a block, at most
	leastBlock      = 4     // and at least
	leadingResidual = 4e-14 // of an eigenpair, by the largest eigenvalue and √d
	leadingRange    = 1e-6  // eigenvalues that are smaller, by the largest, are known better by decompose
)

// largest is decompose, by a shorter way where there is one.
func largest(scatter *mat.SymDense, k int) ([]float64, *mat.Dense, error) {
	d := scatter.SymmetricDim()
	if d >= leadingFeatures && k <= d/leadingShare {
		if values, vectors := leading(scatter, k); values != nil {
			return values, vectors, nil
		}
	}
	return decompose(scatter, k)
}

// leading returns the square roots of the k largest eigenvalues of a scatter matrix, descending, and their eigenvectors; nil where
// they are too close to the next ones, or too far from each other, to be found soon and well. It is Rayleigh and Ritz's
// projection on a Krylov basis, which grows until the residuals are those of rounding. Unlike subspace iteration, it needs no
// gap after the k-th eigenvalue: it comes to an end soon after the basis has as many vectors as there are eigenvalues that stand
// out (Musco and Musco 2015).
//
// From a random block of k vectors the basis has k directions for every eigenvalue, however often it occurs. Blocks are smaller
// where k is large, and then an eigenvalue that occurs more often than a block has vectors would be found too seldom:
// that there is no larger one is proved.
func leading(scatter *mat.SymDense, k int) ([]float64, *mat.Dense) {
	d := scatter.SymmetricDim()
	full := mat.DenseCopyOf(scatter).RawMatrix()
	if !finite(full.Data) {
		return nil, nil
	}
	room := min(d/leadingRoom, max(leadingVectors, leadingTimes*k))
	s := newKrylov(full, min(max(k, leastBlock), leadingBlock), room)
	pace := pace{check: max(k+s.block, 4*s.block)}
	for {
		next := s.step()
		m := s.basis.Rows
		end := m+s.block > room
		if m >= pace.check || end {
			values, turn, left, ok := s.ritz(k)
			if !ok || !(values[k-1] > 0) {
				return nil, nil
			}
			goal := leadingGoal(d, values[k-1])
			if left <= goal {
				return s.leave(values, turn)
			}
			need := pace.next(m, s.block, left/goal)
			end = end || m > room/2 && need > 3*float64(room-m)
		}
		if end {
			return nil, nil
		}
		s.add(next)
	}
}

// leadingGoal is the residual that an eigenpair may have.
func leadingGoal(d int, largest float64) float64 {
	return leadingResidual * math.Sqrt(float64(d)) * largest
}

// A pace says when to look at the residual again, which takes as long as several steps: before it can be expected to have come
// to its goal, since it falls ever faster.
type pace struct {
	check  int     // vectors
	m      int     // vectors at the last check
	excess float64 // of the residual, by the goal, at the last check
}

// next sets the next check, and returns how many vectors are still needed if the residual goes on falling as it did, 0
// where that is not known yet.
func (p *pace) next(m, block int, excess float64) (need float64) {
	ahead := float64(m) / 3
	if p.m > 0 {
		need = math.Inf(1)
		if fell := math.Log(p.excess / excess); fell > 0 {
			need = math.Log(excess) / fell * float64(m-p.m)
		}
		ahead = min(ahead, 0.7*need)
	}
	p.check = m + max(block, int(ahead))
	p.m, p.excess = m, excess
	return need
}

// leave returns what leading does, of Ritz's pairs that have come to an end.
func (s *krylov) leave(values []float64, turn blas64.General) ([]float64, *mat.Dense) {
	k, d := turn.Rows, s.basis.Cols
	vectors := general64(k, d)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, turn, s.basis, 0, vectors)
	if !s.refine(values, vectors) || k > s.block && !s.complete(values, vectors) {
		return nil, nil
	}
	roots, columns := make([]float64, k), mat.NewDense(d, k, nil)
	for j := range k {
		roots[j] = math.Sqrt(values[k-1-j])
		columns.SetCol(j, rowOf64(vectors, k-1-j).Data)
	}
	return roots, columns
}

// refine makes the values those of the vectors, vᵀHv, and reports whether the pairs are what they should be:
// of residuals that are small themselves, not only by what the steps said of them, in their order, and in the range.
func (s *krylov) refine(values []float64, vectors blas64.General) bool {
	k, d := vectors.Rows, vectors.Cols
	image := general64(k, d)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, vectors, s.matrix, 0, image)
	goal := 2 * leadingGoal(d, values[k-1])
	for j := range k {
		v, hv := rowOf64(vectors, j), rowOf64(image, j)
		values[j] = blas64.Dot(v, hv)
		blas64.Axpy(-values[j], v, hv)
		if !(blas64.Nrm2(hv) <= goal) {
			return false
		}
		if j > 0 {
			values[j] = max(values[j], values[j-1]) // but for rounding they are
		}
	}
	return values[0] > leadingRange*values[k-1]
}

// complete tells whether no eigenvalue but these is larger than the least of them, by more than rounding: whether σI−H, with
// H's part along the vectors taken away, has a Cholesky factor.
func (s *krylov) complete(values []float64, vectors blas64.General) bool {
	k, d := vectors.Rows, vectors.Cols
	rest := mat.NewSymDense(d, nil)
	scaled := general64(d, k)
	for j := range k {
		for i := range d {
			scaled.Data[i*k+j] = vectors.Data[j*d+i] * math.Sqrt(values[j])
		}
	}
	rest.SymOuterK(1, mat.NewDense(d, k, scaled.Data))
	bound := values[0] + 4*leadingGoal(d, values[k-1])
	for i := range d {
		for j := i; j < d; j++ {
			rest.SetSym(i, j, rest.At(i, j)-s.matrix.Data[i*d+j])
		}
		rest.SetSym(i, i, rest.At(i, i)+bound)
	}
	var cholesky mat.Cholesky
	return cholesky.Factorize(rest)
}
