package pca

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

var errNotConverged = errors.New("pca: the decomposition did not converge")

// decompose returns the square roots of the k largest eigenvalues of a scatter matrix, descending, and their
// eigenvectors, the columns of a matrix with d rows.
//
// It is the SVD of a triangular factor of the matrix, not the eigendecomposition, which knows no eigenvalue better than
// to the rounding of the largest: of data whose features differ in size by 10⁵ it has no digit of the smallest. The
// matrix is first scaled to a diagonal of ones, which makes its Cholesky factor as exact in small
// features as in large ones (Demmel and Veselić 1992), and pivots end it where the features' rank does. The
// singular values are then as exact as those of an SVD of the rows. It takes less time, too.
func decompose(scatter *mat.SymDense, k int) ([]float64, *mat.Dense, error) {
	d := scatter.SymmetricDim()
	scale := make([]float64, d)
	for j := range scale {
		if scale[j] = math.Sqrt(scatter.At(j, j)); !(scale[j] > 0) {
			scale[j] = 1 // a constant feature
		}
	}
	unit := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			unit.SetSym(i, j, scatter.At(i, j)/scale[i]/scale[j])
		}
	}
	var cholesky mat.PivotedCholesky
	cholesky.Factorize(unit, -1) // false where the rank is less than d
	var upper mat.TriDense
	cholesky.UTo(&upper)
	factor := mat.NewDense(max(1, cholesky.Rank()), d, nil)
	for j, column := range cholesky.ColumnPivots(nil) {
		for i := range min(j+1, cholesky.Rank()) {
			factor.Set(i, column, upper.At(i, j)*scale[column])
		}
	}
	if !finite(factor.RawMatrix().Data) {
		return nil, nil, errors.New("pca: the scatter matrix is none") // that was read, and is not of rows
	}
	var svd mat.SVD
	kind := mat.SVDThinV
	if k > cholesky.Rank() {
		kind = mat.SVDFullV // the components of no variance are orthogonal to the others
	}
	if !svd.Factorize(factor, kind) {
		return nil, nil, errNotConverged
	}
	values := make([]float64, max(d, k))
	copy(values, svd.Values(nil))
	var vectors mat.Dense
	svd.VTo(&vectors)
	return values[:k], mat.DenseCopyOf(vectors.Slice(0, d, 0, k)), nil
}
