package computetest

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// Naive returns the engine that others are held to: row by row, in the order in which the definitions
// stand, in float64 throughout.
func Naive() compute.Engine { return naive{} }

type naive struct{}

func (naive) Name() string { return "naive" }

func (naive) NewGram(pilot []float32) compute.Gram {
	d := len(pilot)
	return &naiveGram{pilot: append([]float32(nil), pilot...), sum: make([]float64, d), outer: make([]float64, d*d), row: make([]float64, d)}
}

func (naive) NewCenters(c blas32.General) compute.Centers {
	p := new(naiveCenters)
	p.Set(c)
	return p
}

func (naive) NewLinear(c compute.LinearConfig) compute.Linear { return newNaiveLinear(c) }

func (naive) Multiply(transposed bool, x compute.Matrix, b, c blas32.General) {
	rows, inner := x.Rows(), x.Cols()
	if transposed {
		rows, inner = inner, rows
	}
	if rows != c.Rows || inner != b.Rows || b.Cols != c.Cols {
		panic(fmt.Sprintf("compute: %d×%d by %d×%d into %d×%d", rows, inner, b.Rows, b.Cols, c.Rows, c.Cols))
	}
	sums := make([]float64, c.Rows*c.Cols)
	for i := range x.Rows() {
		each(x, i, func(j int, v float32) {
			to, from := i, j
			if transposed {
				to, from = j, i
			}
			for l, w := range b.Data[from*b.Stride:][:b.Cols] {
				sums[to*c.Cols+l] += float64(v) * float64(w)
			}
		})
	}
	for i := range c.Rows {
		for l := range c.Cols {
			c.Data[i*c.Stride+l] = float32(float64(c.Data[i*c.Stride+l]) + sums[i*c.Cols+l])
		}
	}
}

// each calls f with the columns and values of row i, those that are not stored left out.
func each(m compute.Matrix, i int, f func(j int, v float32)) {
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
func widen(m compute.Matrix, i int, dst []float64) {
	clear(dst)
	each(m, i, func(j int, v float32) { dst[j] = float64(v) })
}

type naiveGram struct {
	pilot           []float32
	n               int64
	sum, outer, row []float64
}

func (g *naiveGram) Add(x compute.Matrix) {
	d := len(g.pilot)
	if x.Cols() != d {
		panic(fmt.Sprintf("compute: rows of %d columns to a Gram of %d", x.Cols(), d))
	}
	for i := range x.Rows() {
		widen(x, i, g.row)
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

func (g *naiveGram) Sums(sum, outer []float64) int64 {
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

type naiveCenters struct {
	c   blas32.General
	row []float64
}

func (p *naiveCenters) Set(c blas32.General) {
	p.c = blas32.General{Rows: c.Rows, Cols: c.Cols, Stride: c.Cols, Data: make([]float32, c.Rows*c.Cols)}
	for i := range c.Rows {
		copy(p.c.Data[i*c.Cols:], c.Data[i*c.Stride:][:c.Cols])
	}
	p.row = make([]float64, c.Cols)
}

func (p *naiveCenters) distance(j int) float64 {
	sum := 0.0
	for l, c := range p.c.Data[j*p.c.Cols:][:p.c.Cols] {
		diff := p.row[l] - float64(c)
		sum += diff * diff
	}
	return sum
}

func (p *naiveCenters) nearest(x compute.Matrix, i int) (nearest int, distance float64) {
	widen(x, i, p.row)
	distance = math.Inf(1)
	for j := range p.c.Rows {
		if d := p.distance(j); d < distance {
			nearest, distance = j, d
		}
	}
	return nearest, distance
}

func (p *naiveCenters) Assign(x compute.Matrix, nearest []int32, distance []float32) {
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

func (p *naiveCenters) AssignAndSum(x compute.Matrix, weight []float32, sums, weights []float64) float64 {
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

func (p *naiveCenters) Distances(x compute.Matrix, dst blas32.General) {
	for i := range x.Rows() {
		widen(x, i, p.row)
		for j := range p.c.Rows {
			dst.Data[i*dst.Stride+j] = float32(p.distance(j))
		}
	}
}
