package pca

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/compute"
)

// iterations are how often the range of a stack is multiplied by the stack and its transpose.
const iterations = 2

// A stack is a matrix of d columns: some dense rows, and below them others, from each of which mean is
// subtracted where it is not nil.
type stack struct {
	engine compute.Engine
	above  blas32.General
	below  compute.Matrix
	mean   []float64
}

// decompose writes the squares of the largest singular values, descending, and the right vectors, the columns of v, to
// both, as many as there is room for. They are those of the stack to within what a randomized subspace
// iteration leaves (Halko, Martinsson and Tropp 2011, algorithm 4.4).
func (st *stack) decompose(random *rand.Rand, values []float64, v blas32.General) error {
	basis := signs(random, v.Rows, v.Cols)
	for range iterations {
		left := st.times(basis)
		orthonormalize(left)
		basis = st.transposedTimes(left)
		orthonormalize(basis)
	}
	gram := gramOf(st.times(basis))
	if trace := mat.Trace(gram); math.IsNaN(trace) || math.IsInf(trace, 0) {
		return algospec.ClientErrorf("channel train: the features are too large: the sum of their squares is %v", trace)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return errNotConverged
	}
	var turn mat.Dense
	eigen.VectorsTo(&turn)
	l := len(values)
	turn32 := general(l, l)
	for j := range l {
		from := l - 1 - j
		values[j] = max(0, eigen.Values(nil)[from])
		for i := range l {
			turn32.Data[i*l+j] = float32(turn.At(i, from))
		}
	}
	clear(v.Data)
	st.engine.Multiply(false, compute.Matrix{X: basis}, turn32, v)
	return nil
}

// signs returns a matrix of ±1.
func signs(random *rand.Rand, rows, columns int) blas32.General {
	m := general(rows, columns)
	var bits uint64
	for i := range m.Data {
		if i%64 == 0 {
			bits = random.Uint64()
		}
		m.Data[i] = float32(int(bits&1)*2 - 1)
		bits >>= 1
	}
	return m
}

// times returns the stack's product with b.
func (st *stack) times(b blas32.General) blas32.General {
	product := general(st.above.Rows+st.below.Rows(), b.Cols)
	above, below := st.split(product)
	st.engine.Multiply(false, compute.Matrix{X: st.above}, b, above)
	st.engine.Multiply(false, st.below, b, below)
	if st.mean != nil {
		shift := make([]float64, b.Cols)
		for j, mean := range st.mean {
			for l, x := range b.Data[j*b.Stride:][:b.Cols] {
				shift[l] += mean * float64(x)
			}
		}
		subtract(below, shift)
	}
	return product
}

// transposedTimes returns the product of the stack's transpose with b.
func (st *stack) transposedTimes(b blas32.General) blas32.General {
	product := general(st.above.Cols, b.Cols)
	above, below := st.split(b)
	st.engine.Multiply(true, compute.Matrix{X: st.above}, above, product)
	st.engine.Multiply(true, st.below, below, product)
	if st.mean != nil {
		sums := make([]float64, b.Cols)
		each(compute.Matrix{X: below}, func(l int, x float64) { sums[l] += x })
		for j, mean := range st.mean {
			for l := range sums {
				product.Data[j*product.Stride+l] -= float32(mean * sums[l])
			}
		}
	}
	return product
}

// split returns the parts of a matrix of as many rows as the stack.
func (st *stack) split(m blas32.General) (above, below blas32.General) {
	above, below = m, m
	above.Rows, below.Rows = st.above.Rows, m.Rows-st.above.Rows
	above.Data, below.Data = m.Data[:above.Rows*m.Stride], m.Data[above.Rows*m.Stride:]
	return above, below
}

// squares returns the sum of squares of the rows below.
func (st *stack) squares() float64 {
	total := 0.0
	if st.mean == nil {
		each(st.below, func(_ int, x float64) { total += x * x })
		return total
	}
	for _, mean := range st.mean { // of what is not stored, and then what is stored in its place
		total += float64(st.below.Rows()) * mean * mean
	}
	each(st.below, func(j int, x float64) { total += x * (x - 2*st.mean[j]) })
	return total
}

// orthonormalize replaces the columns by an orthonormal basis of what they span, and of more where they are dependent.
func orthonormalize(m blas32.General) {
	wide := blas64.General{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols, Data: make([]float64, len(m.Data))}
	for i, x := range m.Data {
		wide.Data[i] = float64(x)
	}
	orthonormalizeWide(wide)
	for i, x := range wide.Data {
		m.Data[i] = float32(x)
	}
}

// gramOf returns mᵀm.
func gramOf(m blas32.General) *mat.SymDense {
	wide := mat.NewDense(m.Rows, m.Cols, nil)
	for i, x := range m.Data {
		wide.RawMatrix().Data[i] = float64(x)
	}
	gram := mat.NewSymDense(m.Cols, nil)
	gram.SymOuterK(1, wide.T())
	return gram
}

// orthonormalizeWide replaces the columns by an orthonormal basis of what they span, and of more where they are dependent.
func orthonormalizeWide(m blas64.General) {
	tau, size := make([]float64, m.Cols), make([]float64, 1)
	lapack64.Geqrf(m, tau, size, -1)
	work := make([]float64, max(int(size[0]), m.Cols))
	lapack64.Geqrf(m, tau, work, len(work))
	lapack64.Orgqr(m, tau, work, len(work))
}
