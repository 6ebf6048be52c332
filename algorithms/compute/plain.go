package compute

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// Default returns the engine of this machine.
func Default() Engine { return plain{} }

// plain computes row by row, in the order in which the definitions stand.
type plain struct{}

func (plain) Name() string { return "cpu (plain)" }

func (plain) NewGram(pilot []float32) Gram {
	d := len(pilot)
	return &plainGram{pilot: append([]float32(nil), pilot...), sum: make([]float64, d), outer: make([]float64, d*d), row: make([]float64, d)}
}

func (plain) NewCenters(c blas32.General) Centers {
	p := new(plainCenters)
	p.Set(c)
	return p
}

func (e plain) NewLinear(c LinearConfig) Linear { return newLinear(e, c) }

func (plain) Multiply(transposed bool, x Matrix, b, c blas32.General) {
	rows, inner := x.Rows(), x.Cols()
	if transposed {
		rows, inner = inner, rows
	}
	if rows != c.Rows || inner != b.Rows || b.Cols != c.Cols {
		panic(fmt.Sprintf("compute: %d×%d by %d×%d into %d×%d", rows, inner, b.Rows, b.Cols, c.Rows, c.Cols))
	}
	for i := range x.Rows() {
		x.each(i, func(j int, v float32) {
			to, from := i, j
			if transposed {
				to, from = j, i
			}
			dst, src := c.Data[to*c.Stride:][:c.Cols], b.Data[from*b.Stride:][:b.Cols]
			for l, w := range src {
				dst[l] += v * w
			}
		})
	}
}

// each calls f with the columns and values of row i, those that are not stored left out.
func (m Matrix) each(i int, f func(j int, v float32)) {
	if m.S == nil {
		for j, v := range m.X.Data[i*m.X.Stride:][:m.X.Cols] {
			f(j, v)
		}
		return
	}
	columns, values := m.S.Row(i)
	for l, j := range columns {
		f(int(j), values[l])
	}
}

// widen writes row i to dst.
func (m Matrix) widen(i int, dst []float64) {
	clear(dst)
	m.each(i, func(j int, v float32) { dst[j] = float64(v) })
}

type plainGram struct {
	pilot           []float32
	n               int64
	sum, outer, row []float64
}

func (g *plainGram) Add(x Matrix) {
	d := len(g.pilot)
	if x.Cols() != d {
		panic(fmt.Sprintf("compute: rows of %d columns to a Gram of %d", x.Cols(), d))
	}
	for i := range x.Rows() {
		x.widen(i, g.row)
		for j, p := range g.pilot {
			g.row[j] -= float64(p)
		}
		for j, v := range g.row {
			g.sum[j] += v
			for l := j; l < d; l++ {
				g.outer[j*d+l] += v * g.row[l]
			}
		}
	}
	g.n += int64(x.Rows())
}

func (g *plainGram) Sums(sum, outer []float64) int64 {
	for j, v := range g.sum {
		sum[j] += v
	}
	for j, v := range g.outer {
		outer[j] += v
	}
	n := g.n
	g.n = 0
	clear(g.sum)
	clear(g.outer)
	return n
}

type plainCenters struct {
	c   blas32.General
	row []float64
}

func (p *plainCenters) Set(c blas32.General) {
	p.c = blas32.General{Rows: c.Rows, Cols: c.Cols, Stride: c.Cols, Data: make([]float32, c.Rows*c.Cols)}
	for i := range c.Rows {
		copy(p.c.Data[i*c.Cols:], c.Data[i*c.Stride:][:c.Cols])
	}
	p.row = make([]float64, c.Cols)
}

func (p *plainCenters) distance(j int) float64 {
	sum := 0.0
	for l, c := range p.c.Data[j*p.c.Cols:][:p.c.Cols] {
		diff := p.row[l] - float64(c)
		sum += diff * diff
	}
	return sum
}

func (p *plainCenters) nearest(x Matrix, i int) (nearest int, distance float64) {
	x.widen(i, p.row)
	distance = math.Inf(1)
	for j := range p.c.Rows {
		if d := p.distance(j); d < distance {
			nearest, distance = j, d
		}
	}
	return nearest, distance
}

func (p *plainCenters) Assign(x Matrix, nearest []int32, distance []float32) {
	for i := range x.Rows() {
		j, d := p.nearest(x, i)
		if nearest != nil {
			nearest[i] = int32(j)
		}
		if distance != nil {
			distance[i] = float32(d)
		}
	}
}

func (p *plainCenters) AssignAndSum(x Matrix, weight []float32, sums, weights []float64) float64 {
	loss := 0.0
	for i := range x.Rows() {
		j, d := p.nearest(x, i)
		w := 1.0
		if weight != nil {
			w = float64(weight[i])
		}
		loss += w * d
		weights[j] += w
		for l, v := range p.row {
			sums[j*p.c.Cols+l] += w * v
		}
	}
	return loss
}

func (p *plainCenters) Distances(x Matrix, dst blas32.General) {
	for i := range x.Rows() {
		x.widen(i, p.row)
		for j := range p.c.Rows {
			dst.Data[i*dst.Stride+j] = float32(p.distance(j))
		}
	}
}
