package compute

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

// cpuLinear is the Linear of the engines that compute in this process: products by the engine, all else here.
type cpuLinear struct {
	LinearConfig
	engine  Engine
	columns int

	w, first, second blas32.General // (d+1)×columns, the biases last
	average          blas32.General // as w; no rows where there is none
	grad             blas32.General // as w
	losses           []float64      // of each model
	done             []float64      // as Update returned them
	z                []float32      // of a batch
	products         []float64      // of a loss kernel
	column           []columnSettings
}

// columnSettings are the settings of a column's model in the type of the weights.
type columnSettings struct{ decay, l1, biasDecay, rate float32 }

// newLinear returns the Linear whose products e computes. Weights and biases are 0.
func newLinear(e Engine, c LinearConfig) Linear {
	if c.Features < 1 || c.Outputs < 1 || len(c.Models) == 0 || c.Outputs > 1 && c.Loss != Softmax || c.Shift != nil && len(c.Shift) != c.Features {
		panic(fmt.Sprintf("compute: %d linear models of %d features and %d outputs, shift of %d", len(c.Models), c.Features, c.Outputs, len(c.Shift)))
	}
	l := &cpuLinear{LinearConfig: c, engine: e, columns: len(c.Models) * c.Outputs}
	l.Models, l.Shift = slices.Clone(c.Models), slices.Clone(c.Shift)
	l.w, l.grad = l.matrix(), l.matrix()
	if c.Optimizer == Adam || c.Optimizer == SGD && c.Momentum != 0 {
		l.first = l.matrix()
	}
	if c.Optimizer == Adam || c.Optimizer == RMSProp {
		l.second = l.matrix()
	}
	if c.Average {
		l.average = l.matrix()
	}
	l.losses, l.done = make([]float64, len(c.Models)), make([]float64, len(c.Models))
	l.column = make([]columnSettings, l.columns)
	for m, model := range c.Models {
		for k := range l.model(m) {
			l.column[m*c.Outputs+k] = columnSettings{decay: float32(model.Decay), l1: float32(model.L1), biasDecay: float32(model.BiasDecay)}
		}
		if model.Positive == 0 {
			l.Models[m].Positive = 1
		}
	}
	return l
}

func (l *cpuLinear) matrix() blas32.General {
	rows := l.Features + 1
	return blas32.General{Rows: rows, Cols: l.columns, Stride: l.columns, Data: make([]float32, rows*l.columns)}
}

// model returns the columns of a model's settings.
func (l *cpuLinear) model(m int) []columnSettings { return l.column[m*l.Outputs:][:l.Outputs] }

// weights and bias return the parts of w, or of a matrix like it.
func weights(m blas32.General) blas32.General {
	m.Rows--
	return m
}

func bias(m blas32.General) []float32 { return m.Data[(m.Rows-1)*m.Stride:][:m.Cols] }

func (l *cpuLinear) Gradient(x Matrix, labels, weight []float32) {
	n := x.Rows()
	if len(labels) != n || weight != nil && len(weight) != n {
		panic(fmt.Sprintf("compute: %d labels and %d weights for %d rows", len(labels), len(weight), n))
	}
	z := l.scratch(n)
	l.scores(l.w, x, z)
	l.lossKernel(z, labels, weight) // z is its derivative from here on
	l.engine.Multiply(true, x, z, weights(l.grad))
	gradient := make([]float32, l.columns)
	for i := range n {
		for k, d := range z.Data[i*l.columns:][:l.columns] {
			gradient[k] += d
		}
	}
	for k, d := range gradient {
		bias(l.grad)[k] += d
	}
	for j, s := range l.Shift {
		row := l.grad.Data[j*l.columns:][:l.columns]
		for k, d := range gradient {
			row[k] -= s * d
		}
	}
}

func (l *cpuLinear) scratch(n int) blas32.General {
	if len(l.z) < n*l.columns {
		l.z = make([]float32, n*l.columns)
	}
	return blas32.General{Rows: n, Cols: l.columns, Stride: l.columns, Data: l.z[:n*l.columns]}
}

func (l *cpuLinear) Scores(x Matrix, dst blas32.General) {
	if dst.Cols != l.columns || dst.Rows != x.Rows() {
		panic(fmt.Sprintf("compute: scores of %d rows by %d columns into %d×%d", x.Rows(), l.columns, dst.Rows, dst.Cols))
	}
	w := l.w
	if l.Average {
		w = l.average
	}
	l.scores(w, x, dst)
}

// scores writes x·w and the bias to z.
func (l *cpuLinear) scores(w blas32.General, x Matrix, dst blas32.General) {
	origin := slices.Clone(bias(w))
	for j, s := range l.Shift {
		for k, w := range w.Data[j*l.columns:][:l.columns] {
			origin[k] -= s * w
		}
	}
	for i := range dst.Rows {
		copy(dst.Data[i*dst.Stride:], origin)
	}
	l.engine.Multiply(false, x, weights(w), dst)
}

func (l *cpuLinear) SumsLen() int { return len(l.grad.Data) + len(l.losses) }

func (l *cpuLinear) Sums(dst []float64) {
	for i, g := range l.grad.Data {
		dst[i] = float64(g)
	}
	copy(dst[len(l.grad.Data):], l.losses)
}

func (l *cpuLinear) SetSums(src []float64) {
	for i := range l.grad.Data {
		l.grad.Data[i] = float32(src[i])
	}
	copy(l.losses, src[len(l.grad.Data):])
}

func (l *cpuLinear) Update(scale float64, rates []float64, average float64) []float64 {
	for m, rate := range rates {
		for k := range l.model(m) {
			l.column[m*l.Outputs+k].rate = float32(rate)
		}
	}
	d := l.Features
	for j := range d {
		l.updateRow(j, float32(scale), l.column)
	}
	if !l.NoBias {
		settings := slices.Clone(l.column)
		for k := range settings {
			settings[k] = columnSettings{decay: settings[k].biasDecay, rate: settings[k].rate * float32(l.BiasRate)}
		}
		l.updateRow(d, float32(scale), settings)
	}
	share := float32(average)
	for i, a := range l.average.Data {
		l.average.Data[i] = a + share*(l.w.Data[i]-a)
	}
	clear(l.grad.Data)
	copy(l.done, l.losses)
	clear(l.losses)
	return l.done
}

// updateRow moves the weights of a feature in all models.
func (l *cpuLinear) updateRow(j int, scale float32, settings []columnSettings) {
	const epsilon = 1e-8
	w, g := l.w.Data[j*l.columns:][:l.columns], l.grad.Data[j*l.columns:][:l.columns]
	settings = settings[:len(w)]
	g = g[:len(w)]
	for k, s := range settings {
		g[k] = g[k]*scale + s.decay*w[k]
		if s.l1 != 0 && w[k] != 0 {
			g[k] += float32(math.Copysign(float64(s.l1), float64(w[k])))
		}
	}
	switch {
	case l.Optimizer == Adam:
		b1, b2 := float32(l.Beta1), float32(l.Beta2)
		c1, c2 := float32(1-l.Beta1), float32(1-l.Beta2)
		first, second := l.first.Data[j*l.columns:][:len(w)], l.second.Data[j*l.columns:][:len(w)]
		for k, s := range settings {
			first[k] = b1*first[k] + c1*g[k]
			second[k] = b2*second[k] + c2*g[k]*g[k]
			w[k] -= s.rate * first[k] / (float32(math.Sqrt(float64(second[k]))) + epsilon)
		}
	case l.Optimizer == RMSProp:
		b2, c2 := float32(l.Beta2), float32(1-l.Beta2)
		second := l.second.Data[j*l.columns:][:len(w)]
		for k, s := range settings {
			second[k] = b2*second[k] + c2*g[k]*g[k]
			w[k] -= s.rate * g[k] / float32(math.Sqrt(float64(second[k]+epsilon)))
		}
	case l.Momentum != 0:
		momentum := float32(l.Momentum)
		first := l.first.Data[j*l.columns:][:len(w)]
		for k, s := range settings {
			first[k] = momentum*first[k] - s.rate*g[k]
			w[k] += first[k]
		}
	default:
		for k, s := range settings {
			w[k] -= s.rate * g[k]
		}
	}
}

func (l *cpuLinear) State(s *LinearState) {
	s.Weights = append(s.Weights[:0], l.w.Data...)
	s.First = append(s.First[:0], l.first.Data...)
	s.Second = append(s.Second[:0], l.second.Data...)
	s.Average = append(s.Average[:0], l.average.Data...)
}

func (l *cpuLinear) SetState(s *LinearState) {
	for _, pair := range [][2][]float32{{l.w.Data, s.Weights}, {l.first.Data, s.First}, {l.second.Data, s.Second}, {l.average.Data, s.Average}} {
		if len(pair[0]) != len(pair[1]) {
			panic(fmt.Sprintf("compute: %d numbers for a state of %d", len(pair[1]), len(pair[0])))
		}
		copy(pair[0], pair[1])
	}
}
