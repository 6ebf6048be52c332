package compute

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

// cpuLinear is the Linear of the engines on this machine's processors.
type cpuLinear struct {
	LinearConfig
	engine  *cpu
	columns int

	w, first, second blas32.General // (d+1)×columns, the biases last
	average          blas32.General // as w; no rows where there is none
	grad             blas32.General // as w
	losses           []float64      // of each model
	done             []float64      // as Update returned them
	column, bias     []columnSettings
	scale            float32
	share            float32   // of Update's average
	gradient         []float32 // of the biases, of one batch
	origin           []float32 // z of a row of zeros

	// Of one call: z of a batch, and the losses of each piece of it.
	z              blas32.General
	memory         []float32
	labels, weight []float32
	partial        []float64
}

// columnSettings are the settings of a column's model in the type of the weights.
type columnSettings struct{ decay, l1, biasDecay, rate float32 }

// newLinear returns the Linear whose products e computes. Weights and biases are 0.
func newLinear(e *cpu, c LinearConfig) Linear {
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
	l.column, l.bias = make([]columnSettings, l.columns), make([]columnSettings, l.columns)
	l.gradient, l.origin = make([]float32, l.columns), make([]float32, l.columns)
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

// pieceRows are the rows of a batch, or of the weights, that one worker takes at a time.
const pieceRows = 128

func (l *cpuLinear) Gradient(x Matrix, labels, weight []float32) {
	n := x.Rows()
	if len(labels) != n || weight != nil && len(weight) != n {
		panic(fmt.Sprintf("compute: %d labels and %d weights for %d rows", len(labels), len(weight), n))
	}
	if n == 0 {
		return
	}
	z := blas32.General{Rows: n, Cols: l.columns, Stride: l.columns, Data: aligned(&l.memory, n*l.columns)}
	l.scores(l.w, x, z)
	l.batchLosses(z, labels, weight) // z is its derivative from here on
	l.engine.Multiply(true, x, z, weights(l.grad))
	clear(l.gradient)
	for i := range n {
		for k, d := range z.Data[i*l.columns:][:l.columns] {
			l.gradient[k] += d
		}
	}
	sum := bias(l.grad)
	for k, d := range l.gradient {
		sum[k] += d
	}
	for j, s := range l.Shift {
		row := l.grad.Data[j*l.columns:][:l.columns]
		for k, d := range l.gradient {
			row[k] -= s * d
		}
	}
}

// batchLosses adds the losses of the rows of z to those of the models, and replaces z by the derivatives. Each piece of rows has
// sums of its own, which are added up in order.
func (l *cpuLinear) batchLosses(z blas32.General, labels, weight []float32) {
	const factor = 32 // multiplications that a loss is worth
	pieces, models := (z.Rows+pieceRows-1)/pieceRows, len(l.Models)
	l.z, l.labels, l.weight = z, labels, weight
	partial := aligned(&l.partial, 3*pieces*models)
	clear(partial)
	l.engine.run((*lossTask)(l), pieces, factor*float64(z.Rows)*float64(l.columns))
	for piece := range pieces {
		for m, loss := range partial[3*piece*models:][:models] {
			l.losses[m] += loss
		}
	}
	l.z, l.labels, l.weight = blas32.General{}, nil, nil
}

// A lossTask is the losses of a batch: a piece is pieceRows rows.
type lossTask cpuLinear

func (t *lossTask) do(_ *scratch, piece int) {
	l, models := (*cpuLinear)(t), len(t.Models)
	first := piece * pieceRows
	last := min(first+pieceRows, l.z.Rows)
	r := lossRows{l: l, labels: l.labels[first:last], losses: l.partial[3*piece*models:][:models], products: l.partial[(3*piece+1)*models:][:2*models]}
	r.z = blas32.General{Rows: last - first, Cols: l.columns, Stride: l.columns, Data: l.z.Data[first*l.columns : last*l.columns]}
	if l.weight != nil {
		r.weight = l.weight[first:last]
	}
	r.kernel()
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
	copy(l.origin, bias(w))
	for j, s := range l.Shift {
		for k, w := range w.Data[j*l.columns:][:l.columns] {
			l.origin[k] -= s * w
		}
	}
	for i := range dst.Rows {
		copy(dst.Data[i*dst.Stride:][:dst.Cols], l.origin)
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
	for k, c := range l.column {
		l.bias[k] = columnSettings{decay: c.biasDecay, rate: c.rate * float32(l.BiasRate)}
	}
	const factor = 16 // multiplications that an update is worth
	l.scale, l.share = float32(scale), float32(average)
	l.engine.run((*updateTask)(l), (l.w.Rows+pieceRows-1)/pieceRows, factor*float64(l.w.Rows)*float64(l.columns))
	copy(l.done, l.losses)
	clear(l.losses)
	return l.done
}

// An updateTask moves the weights: a piece is pieceRows rows of them.
type updateTask cpuLinear

func (t *updateTask) do(_ *scratch, piece int) {
	l := (*cpuLinear)(t)
	for j := piece * pieceRows; j < min((piece+1)*pieceRows, l.w.Rows); j++ {
		switch {
		case j < l.Features:
			l.updateRow(j, l.scale, l.column)
		case !l.NoBias:
			l.updateRow(j, l.scale, l.bias)
		}
		row := j * l.columns
		if l.Average {
			w := l.w.Data[row:][:l.columns]
			for k, a := range l.average.Data[row:][:l.columns] {
				l.average.Data[row+k] = a + l.share*(w[k]-a)
			}
		}
		clear(l.grad.Data[row:][:l.columns])
	}
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
