package pca

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Few components of many features are found by iteration; where that has not come to an end after so many rounds,
// it costs a fraction of the time of decompose, which takes over.
const (
	leadingFeatures = 128 // fewer are decomposed at once
	leadingShare    = 8   // k is at most d divided by this
	leadingRounds   = 40
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
// they are too close to the next ones, or too far from each other, to be found soon and well. It is subspace iteration
// with Rayleigh and Ritz's projection, until the residuals are those of rounding (Parlett 1998, 14.1).
func leading(scatter *mat.SymDense, k int) ([]float64, *mat.Dense) {
	d := scatter.SymmetricDim()
	m := min(d, 2*k+16)
	all := mat.DenseCopyOf(scatter)
	basis, image := mat.NewDense(d, m, nil), mat.NewDense(d, m, nil)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range basis.RawMatrix().Data {
		basis.RawMatrix().Data[i] = random.NormFloat64()
	}
	var product, turned mat.Dense
	before := math.Inf(1)
	for round := range leadingRounds {
		orthonormalizeWide(basis.RawMatrix())
		image.Mul(all, basis)
		product.Mul(basis.T(), image)
		ritz := mat.NewSymDense(m, nil)
		for i := range m {
			for j := i; j < m; j++ {
				ritz.SetSym(i, j, (product.At(i, j)+product.At(j, i))/2)
			}
		}
		var eigen mat.EigenSym
		if !finite(ritz.RawSymmetric().Data) || !eigen.Factorize(ritz, true) {
			return nil, nil
		}
		values := eigen.Values(nil) // ascending
		var turn mat.Dense
		eigen.VectorsTo(&turn)
		turned.Mul(basis, &turn)
		basis.Mul(image, &turn)
		left, goal := residual(&turned, basis, values, k), leadingResidual*math.Sqrt(float64(d))*values[m-1]
		if left > goal {
			// Residuals fall by the same factor each round, in the end.
			if round > 5 && math.Log(left/goal) > math.Log(before/left)*float64(leadingRounds-round) {
				return nil, nil
			}
			before = left
			continue
		}
		if !(values[m-k] > leadingRange*values[m-1]) {
			return nil, nil
		}
		roots, vectors := make([]float64, k), mat.NewDense(d, k, nil)
		for j := range k {
			roots[j] = math.Sqrt(values[m-1-j])
			vectors.SetCol(j, mat.Col(nil, m-1-j, &turned))
		}
		return roots, vectors
	}
	return nil, nil
}

// residual returns the largest ‖Hv−θv‖ of the last k pairs, where image is Hv.
func residual(vectors, image *mat.Dense, values []float64, k int) float64 {
	d, m := vectors.Dims()
	worst := 0.0
	for j := m - k; j < m; j++ {
		sum := 0.0
		for i := range d {
			e := image.At(i, j) - values[j]*vectors.At(i, j)
			sum += e * e
		}
		worst = max(worst, math.Sqrt(sum))
	}
	return worst
}

// orthonormalizeWide replaces the columns by an orthonormal basis of what they span, and of more where they are dependent.
func orthonormalizeWide(m blas64.General) {
	tau, size := make([]float64, m.Cols), make([]float64, 1)
	lapack64.Geqrf(m, tau, size, -1)
	work := make([]float64, max(int(size[0]), m.Cols))
	lapack64.Geqrf(m, tau, work, len(work))
	lapack64.Orgqr(m, tau, work, len(work))
}
