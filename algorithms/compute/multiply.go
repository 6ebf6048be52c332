package compute

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute/internal/kernel"
)

const (
	// steps is how many products are added up before the sum is added to the result.
	steps = 256
	// blasSteps is how many products one call of a BLAS adds up.
	blasSteps = 4096
	// productRows are the rows of the result that a piece computes.
	productRows = 64
	// packedRows of b are packed at a time where they are multiplied with the rows of x.
	packedRows = 8192
)

// product is a call to Multiply.
type product struct {
	e          *cpu
	transposed bool
	x          Matrix
	b, c       blas32.General
	pieces     int
	first, end int // rows of b that are packed
	packed     []float32
}

func (e *cpu) Multiply(transposed bool, x Matrix, b, c blas32.General) {
	rows, inner := x.Rows(), x.Cols()
	if transposed {
		rows, inner = inner, rows
	}
	if rows != c.Rows || inner != b.Rows || b.Cols != c.Cols {
		panic(fmt.Sprintf("compute: %d×%d by %d×%d into %d×%d", rows, inner, b.Rows, b.Cols, c.Rows, c.Cols))
	}
	x.check()
	checkDense("b", b)
	checkDense("c", c)
	if rows == 0 || inner == 0 || c.Cols == 0 {
		return
	}
	m := e.products.Get().(*product)
	m.transposed, m.x, m.b, m.c = transposed, x, b, c
	if x.S != nil {
		m.sparse()
	} else {
		m.dense()
	}
	m.x, m.b, m.c = Matrix{}, blas32.General{}, blas32.General{}
	e.products.Put(m)
}

func (m *product) dense() {
	size := packedRows
	if !m.transposed {
		size = m.b.Rows // each row of x meets all of b
	}
	if m.e.blas != nil {
		m.e.run((*blasProduct)(m), (m.c.Rows+productRows-1)/productRows, float64(m.b.Rows)*float64(m.c.Rows)*float64(m.c.Cols))
		return
	}
	for m.first = 0; m.first < m.b.Rows; m.first += size {
		m.end = min(m.first+size, m.b.Rows)
		m.pack()
		m.e.run((*denseProduct)(m), (m.c.Rows+productRows-1)/productRows, float64(m.end-m.first)*float64(m.c.Rows)*float64(m.c.Cols))
	}
}

// A blasProduct multiplies with the system's BLAS: a piece is productRows rows of the result.
type blasProduct product

func (t *blasProduct) do(_ *scratch, piece int) {
	m := (*product)(t)
	first := piece * productRows
	rows := min(productRows, m.c.Rows-first)
	x := m.x.X
	for l := 0; l < m.b.Rows; l += blasSteps {
		from := first*x.Stride + l
		if m.transposed {
			from = l*x.Stride + first
		}
		m.e.blas.sgemm(m.transposed, false, rows, m.c.Cols, min(blasSteps, m.b.Rows-l), x.Data[from:], x.Stride, m.b.Data[l*m.b.Stride:], m.b.Stride, m.c.Data[first*m.c.Stride:], m.c.Stride)
	}
}

// pack copies rows of b to panels.
func (m *product) pack() {
	w, n := m.e.set.Lanes32, m.end-m.first
	panels := (m.b.Cols + w - 1) / w
	packed := aligned(&m.packed, panels*n*w)
	for p := range panels {
		columns := min(w, m.b.Cols-p*w)
		for l := range n {
			dst := packed[(p*n+l)*w:][:w]
			clear(dst[copy(dst, m.b.Data[(m.first+l)*m.b.Stride+p*w:][:columns]):])
		}
	}
}

// A denseProduct multiplies dense rows: a piece is productRows rows of the result.
type denseProduct product

func (t *denseProduct) do(s *scratch, piece int) {
	m := (*product)(t)
	set := &m.e.set
	w, inner := set.Lanes32, m.end-m.first
	panels := (m.c.Cols + w - 1) / w
	first := piece * productRows
	last := min(first+productRows, m.c.Rows)
	for l := 0; l < inner; l += steps {
		k := min(steps, inner-l)
		for p := 0; p < panels; p += kernel.Widest {
			n := min(kernel.Widest, panels-p)
			b := m.packed[(p*inner+l)*w:]
			for i := first; i < last; i += set.Rows {
				rows := min(set.Rows, last-i)
				a, aRow, aCol := m.a(s, i, rows, m.first+l, k)
				if rows == set.Rows && (p+n)*w <= m.c.Cols {
					set.Tile32[n](k, a, aRow, aCol, b, inner*w, m.c.Data[i*m.c.Stride+p*w:], m.c.Stride)
					continue
				}
				tile := aligned(&s.scores, set.Rows*n*w)
				clear(tile)
				set.Tile32[n](k, a, aRow, aCol, b, inner*w, tile, n*w)
				for r := range rows {
					dst := m.c.Data[(i+r)*m.c.Stride+p*w:][:min(n*w, m.c.Cols-p*w)]
					for j, v := range tile[r*n*w:][:len(dst)] {
						dst[j] += v
					}
				}
			}
		}
	}
}

// a returns the elements that make rows of the result from i on with k rows of b from l on, and their strides. Those of a whole
// tile are where they are, others are copied.
func (m *product) a(s *scratch, i, rows, l, k int) (a []float32, aRow, aCol int) {
	x := m.x.X
	whole := rows == m.e.set.Rows
	switch {
	case whole && m.transposed:
		return x.Data[l*x.Stride+i:], 1, x.Stride
	case whole:
		return x.Data[i*x.Stride+l:], x.Stride, 1
	}
	a, aRow, aCol = aligned(&s.rows, m.e.set.Rows*k), k, 1
	clear(a)
	for r := range rows {
		for j := range k {
			from := (i+r)*x.Stride + l + j
			if m.transposed {
				from = (l+j)*x.Stride + i + r
			}
			a[r*k+j] = x.Data[from]
		}
	}
	return a, aRow, aCol
}

func (m *product) sparse() {
	rows := m.x.Rows()
	stored := m.x.S.Indptr[rows] - m.x.S.Indptr[0]
	if m.c.Cols == 1 {
		m.column(stored)
		return
	}
	m.pieces = m.e.shares()
	m.e.run((*sparseProduct)(m), m.pieces, sparseGain/4*float64(stored)*float64(m.c.Cols))
}

// A sparseProduct multiplies sparse rows: a piece is every so manyth row of the result, a power of 2.
type sparseProduct product

func (t *sparseProduct) do(_ *scratch, piece int) {
	m := (*product)(t)
	whole := m.b.Cols / m.e.set.Lanes32 * m.e.set.Lanes32
	for i := range m.x.Rows() {
		if !m.transposed && i&(m.pieces-1) != piece {
			continue
		}
		columns, values := m.x.S.Row(i)
		for l, j := range columns {
			to, from := i, int(j)
			if m.transposed {
				if int(j)&(m.pieces-1) != piece {
					continue
				}
				to, from = int(j), i
			}
			b, c := m.b.Data[from*m.b.Stride:][:m.b.Cols], m.c.Data[to*m.c.Stride:][:m.b.Cols]
			if whole > 0 {
				m.e.set.Axpy(whole, values[l], b, c)
			}
			for q := whole; q < len(b); q++ {
				c[q] += values[l] * b[q]
			}
		}
	}
}
