package compute

import "github.com/algospec/algospec/algorithms/compute/internal/kernel"

// A blas is a BLAS of the system, which multiplies instead of the kernels' tiles. Each call stays in the
// calling thread: the engine shares out the work, as with kernels, so that threads do not change the results.
type blas interface {
	// sgemm adds op(a)·op(b) to c, m×n of k products each, row by row with rows lda, ldb and ldc elements apart.
	sgemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int)
	dgemm(transA, transB bool, m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int)
}

// blasStrip is how many rows of a Gram matrix a call computes.
const blasStrip = 96

// newBLAS returns the engine that multiplies with the system's BLAS, and does the rest with kernels.
func newBLAS(threads int) (*cpu, error) {
	b, err := openBLAS()
	if err != nil {
		return nil, err
	}
	set := kernel.Sets()[0]
	set.Name = "blas"
	e := newCPU(set, threads)
	e.blas = b
	return e, nil
}

// multiplyBLAS is multiply with rows that are packed as one panel.
func (g *gram) multiplyBLAS(s *scratch, b *block, i int, outer []float64) {
	first := i * blasStrip
	m, n := min(blasStrip, g.d-first), g.d-first
	c := outer[g.strips[i].offset:]
	for from := 0; from < b.rows; from += g.run {
		rows, at := min(g.run, b.rows-from), from*g.width
		if g.wide {
			g.e.blas.dgemm(true, false, m, n, rows, b.wide[at+first:], g.width, b.wide[at+first:], g.width, c, n)
			continue
		}
		t := aligned(&s.scores, m*n)
		clear(t)
		g.e.blas.sgemm(true, false, m, n, rows, b.narrow[at+first:], g.width, b.narrow[at+first:], g.width, t, n)
		for j, v := range t {
			c[j] += float64(v)
		}
	}
}

// packBLAS is pack with rows as they are, one after the other.
func (g *gram) packBLAS(s *scratch, b *block, run int) {
	first := b.first + run*g.run
	n := min(g.run, b.first+b.rows-first)
	sum := b.sum[run*g.width:][:g.d]
	for i := range n {
		var x []float32
		if g.x.S != nil {
			x = aligned(&s.rows, g.width)
			g.scatter(x, first+i, 1)
		} else {
			x = g.x.X.Data[(first+i)*g.x.X.Stride:]
		}
		at := (run*g.run + i) * g.width
		if g.wide {
			dst := b.wide[at:][:g.d]
			for j, v := range x[:g.d] {
				dst[j] = float64(v) - float64(g.pilot[j])
				sum[j] += dst[j]
			}
			continue
		}
		dst := b.narrow[at:][:g.d]
		for j, v := range x[:g.d] {
			dst[j] = v - g.pilot[j]
			sum[j] += float64(dst[j])
		}
	}
}
