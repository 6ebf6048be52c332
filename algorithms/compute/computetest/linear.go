package computetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// naiveLinear is a Linear row by row, in float64.
type naiveLinear struct {
	compute.LinearConfig
	columns                         int
	w, first, second, average, grad []float64 // (d+1)×columns
	abs                             []float64 // what the gradient's tolerance is relative to
	losses                          []float64
}

func newNaiveLinear(c compute.LinearConfig) *naiveLinear {
	l := &naiveLinear{LinearConfig: c, columns: len(c.Models) * c.Outputs, losses: make([]float64, len(c.Models))}
	n := (c.Features + 1) * l.columns
	l.w, l.grad, l.abs = make([]float64, n), make([]float64, n), make([]float64, n)
	if c.Optimizer == compute.Adam || c.Optimizer == compute.SGD && c.Momentum != 0 {
		l.first = make([]float64, n)
	}
	if c.Optimizer != compute.SGD {
		l.second = make([]float64, n)
	}
	if c.Average {
		l.average = make([]float64, n)
	}
	return l
}

// row returns row i of x less the shift, and 1 for the bias.
func (l *naiveLinear) row(x compute.Matrix, i int) []float64 {
	row := make([]float64, l.Features+1)
	widen(x, i, row[:l.Features])
	for j, s := range l.Shift {
		row[j] -= float64(s)
	}
	row[l.Features] = 1
	return row
}

func (l *naiveLinear) z(w, row []float64, k int) (z float64) {
	for j, v := range row {
		z += v * w[j*l.columns+k]
	}
	return z
}

func (l *naiveLinear) Gradient(x compute.Matrix, labels, weight []float32) {
	for i, label := range labels {
		row := l.row(x, i)
		for m, model := range l.Models {
			w, y := 1.0, float64(label)
			if weight != nil {
				w = float64(weight[i])
			}
			if positive := model.Positive; positive != 0 && y != 0 && (l.Loss == compute.Logistic || l.Loss == compute.Hinge) {
				w *= positive
			}
			derivatives := make([]float64, l.Outputs)
			if l.Loss == compute.Softmax {
				sum := 0.0
				for k := range derivatives {
					derivatives[k] = math.Exp(l.z(l.w, row, m*l.Outputs+k))
					sum += derivatives[k]
				}
				for k := range derivatives {
					derivatives[k] /= sum
				}
				l.losses[m] -= w * math.Log(derivatives[int(y)])
				derivatives[int(y)]--
			} else {
				var loss float64
				loss, derivatives[0] = definition(l.Loss, l.z(l.w, row, m), y, l.Parameter)
				l.losses[m] += w * loss
			}
			for k, d := range derivatives {
				for j, v := range row {
					l.grad[j*l.columns+m*l.Outputs+k] += w * d * v
					l.abs[j*l.columns+m*l.Outputs+k] += w * (1 + math.Abs(d)) * math.Abs(v)
				}
			}
		}
	}
}

// definition is the losses as the comments of compute.Loss have them.
func definition(l compute.Loss, z, y, p float64) (loss, derivative float64) {
	e, t := z-y, 2*y-1
	sign := math.Copysign(1, e)
	over := math.Max(0, math.Abs(e)-p)
	switch l {
	case compute.Logistic:
		return math.Log(1 + math.Exp(-t*z)), -t / (1 + math.Exp(t*z))
	case compute.Hinge:
		if t*z < p {
			return p - t*z, -t
		}
		return 0, 0
	case compute.Squared:
		return e * e, e
	case compute.Absolute:
		return math.Abs(e), sign
	case compute.SquaredInsensitive:
		return over * over, sign * over
	case compute.AbsoluteInsensitive:
		if over == 0 {
			return 0, 0
		}
		return over, sign
	case compute.Huber:
		if over == 0 {
			return e * e / 2, e
		}
		return p * (math.Abs(e) - p/2), sign * p
	}
	if e < 0 {
		return -p * e, -p
	}
	return (1 - p) * e, 1 - p
}

func (l *naiveLinear) SumsLen() int { return len(l.grad) + len(l.losses) }

func (l *naiveLinear) Sums(dst []float64) { copy(dst[copy(dst, l.grad):], l.losses) }

func (l *naiveLinear) SetSums(src []float64) { copy(l.losses, src[copy(l.grad, src):]) }

func (l *naiveLinear) Update(scale float64, rates []float64, average float64) []float64 {
	for i, w := range l.w {
		m := i % l.columns / l.Outputs
		model, rate, bias := l.Models[m], rates[m], i >= l.Features*l.columns
		g := l.grad[i] * scale
		switch {
		case bias && l.NoBias:
			continue
		case bias:
			rate *= l.BiasRate
			g += model.BiasDecay * w
		default:
			g += model.Decay * w
			if w > 0 {
				g += model.L1
			} else if w < 0 {
				g -= model.L1
			}
		}
		switch l.Optimizer {
		case compute.Adam:
			l.first[i] = l.Beta1*l.first[i] + (1-l.Beta1)*g
			l.second[i] = l.Beta2*l.second[i] + (1-l.Beta2)*g*g
			l.w[i] -= rate * l.first[i] / (math.Sqrt(l.second[i]) + 1e-8)
		case compute.RMSProp:
			l.second[i] = l.Beta2*l.second[i] + (1-l.Beta2)*g*g
			l.w[i] -= rate * g / math.Sqrt(l.second[i]+1e-8)
		case compute.SGD:
			move := -rate * g
			if l.first != nil {
				move += l.Momentum * l.first[i]
				l.first[i] = move
			}
			l.w[i] += move
		}
	}
	for i, a := range l.average {
		l.average[i] += average * (l.w[i] - a)
	}
	losses := l.losses
	l.losses = make([]float64, len(losses))
	clear(l.grad)
	clear(l.abs)
	return losses
}

func (l *naiveLinear) Scores(x compute.Matrix, dst blas32.General) {
	w := l.w
	if l.average != nil {
		w = l.average
	}
	for i := range x.Rows() {
		row := l.row(x, i)
		for k := range l.columns {
			dst.Data[i*dst.Stride+k] = float32(l.z(w, row, k))
		}
	}
}

func (l *naiveLinear) State(s *compute.LinearState) {
	*s = compute.LinearState{Weights: narrow(l.w), First: narrow(l.first), Second: narrow(l.second), Average: narrow(l.average)}
}

func narrow(x []float64) (n []float32) {
	for _, v := range x {
		n = append(n, float32(v))
	}
	return n
}

func (l *naiveLinear) SetState(s *compute.LinearState) {
	for _, pair := range []struct {
		dst []float64
		src []float32
	}{{l.w, s.Weights}, {l.first, s.First}, {l.second, s.Second}, {l.average, s.Average}} {
		for i, v := range pair.src {
			pair.dst[i] = float64(v)
		}
	}
}

var lossNames = map[compute.Loss]string{
	compute.Logistic: "logistic", compute.Hinge: "hinge", compute.Softmax: "softmax", compute.Squared: "squared", compute.Absolute: "absolute",
	compute.SquaredInsensitive: "squared insensitive", compute.AbsoluteInsensitive: "absolute insensitive", compute.Huber: "Huber", compute.Quantile: "quantile",
}

func testLinear(t *testing.T, e compute.Engine) {
	for loss := compute.Logistic; loss <= compute.Quantile; loss++ {
		for i, shape := range [][3]int{{1, 1, 1}, {7, 3, 2}, {65, 20, 32}, {700, 9, 5}, {260, 70, 17}} {
			optimizer := compute.Optimizer((int(loss) + i) % 3)
			for j, l := range layouts {
				for _, weighted := range []bool{false, true} {
					name := fmt.Sprintf("%s, optimizer %d, %d×%d, %d models, %s, weighted %v", lossNames[loss], optimizer, shape[0], shape[1], shape[2], l, weighted)
					t.Run(name, func(t *testing.T) {
						c := linearConfig(loss, optimizer, shape[1], shape[2])
						c.NoBias, c.Average = i == 1, j == 1
						if l == sparse {
							c.Shift = values(source(i), shape[1], 0.3, 1, 0)
						}
						if i%2 == 0 {
							c.Momentum = 0
						}
						checkLinear(t, e, c, shape[0], l, weighted)
					})
				}
			}
		}
	}
	t.Run("scores beyond the range of exp", func(t *testing.T) {
		for _, loss := range []compute.Loss{compute.Logistic, compute.Softmax} {
			c := compute.LinearConfig{Features: 1, Outputs: 1, Models: make([]compute.LinearModel, 3), Loss: loss}
			want, labels := []float64{0, 3e4, 3e4}, []float32{1, 0, 1, 0}
			if loss == compute.Softmax {
				c.Models, c.Outputs = c.Models[:1], 2
				want, labels = []float64{6e4}, []float32{0, 1, 0, 1}
			}
			l := e.NewLinear(c)
			var s compute.LinearState
			l.State(&s)
			copy(s.Weights, []float32{0, 100, -100})
			if loss == compute.Softmax {
				copy(s.Weights, []float32{-100, 100})
			} else {
				want[0] = 4 * math.Ln2
				want[1], want[2] = 3e4, 3e4
			}
			l.SetState(&s)
			l.Gradient(dense.matrix(4, 1, []float32{-300, 300, 100, -100}), labels, nil)
			got := l.Update(0, make([]float64, len(c.Models)), 0)
			if loss == compute.Logistic {
				// The labels are against the first two scores of the second model, and with the others; of the third the other way round.
				want = []float64{4 * math.Ln2, 6e4, 2e4}
			} else {
				want = []float64{2e4 + 2e4}
			}
			for m := range want {
				require.InEpsilon(t, want[m], got[m], 1e-6, "%s %d", lossNames[loss], m)
			}
		}
	})
}

func linearConfig(loss compute.Loss, optimizer compute.Optimizer, d, models int) compute.LinearConfig {
	c := compute.LinearConfig{
		Features: d, Outputs: 1, Loss: loss, Parameter: 0.3, Optimizer: optimizer, Beta1: 0.9, Beta2: 0.99, Momentum: 0.5, BiasRate: 10,
	}
	if loss == compute.Softmax {
		c.Outputs = 3
	}
	for m := range models {
		model := compute.LinearModel{Decay: float64(m%4) / 10, BiasDecay: float64(m%3) / 100, L1: float64(m%5) / 50}
		if m%2 == 1 {
			model.Positive = 2.5
		}
		c.Models = append(c.Models, model)
	}
	return c
}

// checkLinear takes some steps, each from the same state as the oracle.
func checkLinear(t *testing.T, e compute.Engine, c compute.LinearConfig, n int, l layout, weighted bool) {
	t.Helper()
	got, want := e.NewLinear(c), newNaiveLinear(c)
	require.Equal(t, want.SumsLen(), got.SumsLen())
	r := source(n, c.Features)
	s := newState(r, want)
	got.SetState(s)
	rates := make([]float64, len(c.Models))
	for m := range rates {
		rates[m] = 0.01 * float64(m+1)
	}
	for step := range 3 {
		got.State(s)
		want.SetState(s)
		x := l.matrix(n, c.Features, values(r, n*c.Features, 0.2, 1, 0.4))
		labels, weight := labels(r, c, n), []float32(nil)
		if weighted {
			weight = values(r, n, 1, 0, 0.3)
			for i := range weight {
				weight[i] *= float32(r.IntN(3))
			}
		}
		first := n / 3
		for _, part := range [][2]int{{0, first}, {first, n}} {
			rows, some := slice(x, part[0], part[1]), weight
			if weight != nil {
				some = weight[part[0]:part[1]]
			}
			got.Gradient(rows, labels[part[0]:part[1]], some)
			want.Gradient(rows, labels[part[0]:part[1]], some)
		}
		sums, exact := make([]float64, got.SumsLen()), make([]float64, got.SumsLen())
		got.Sums(sums)
		want.Sums(exact)
		gradients := len(want.grad)
		if smooth(c.Loss) {
			within(t, "gradient", exact[:gradients], want.abs, sums[:gradients], 8*float64(n+c.Features+10)*unit)
		}
		for m, loss := range exact[gradients:] {
			require.InDelta(t, loss, sums[gradients+m], 1e-5*(math.Abs(loss)+1), "loss of model %d", m)
		}
		want.SetSums(sums)
		got.SetSums(sums)
		require.Equal(t, want.Update(1/float64(n), rates, 0.25), got.Update(1/float64(n), rates, 0.25), "losses, step %d", step)
		var after, exactly compute.LinearState
		got.State(&after)
		want.State(&exactly)
		compareStates(t, exactly, after)
		z, oracle := spread(n, want.columns, make([]float32, n*want.columns)), general(n, want.columns, make([]float32, n*want.columns))
		got.Scores(x, z)
		want.SetState(&after)
		want.Scores(x, oracle)
		for i := range n {
			for k := range want.columns {
				close(t, "score", float64(oracle.Data[i*want.columns+k]), float64(z.Data[i*z.Stride+k]), 1e-4*float64(c.Features+10))
			}
		}
	}
}

// smooth reports whether the gradient does not jump where a score is rounded.
func smooth(l compute.Loss) bool {
	switch l {
	case compute.Hinge, compute.Absolute, compute.AbsoluteInsensitive, compute.Quantile:
		return false
	}
	return true
}

func compareStates(t *testing.T, want, got compute.LinearState) {
	t.Helper()
	for _, pair := range []struct {
		name      string
		want, got []float32
	}{{"weight", want.Weights, got.Weights}, {"first moment", want.First, got.First}, {"second moment", want.Second, got.Second}, {"average", want.Average, got.Average}} {
		require.Len(t, pair.got, len(pair.want), pair.name)
		for i, v := range pair.want {
			close(t, pair.name, float64(v), float64(pair.got[i]), 1e-5*(math.Abs(float64(v))+0.3))
		}
	}
}

func newState(r *rand.Rand, l *naiveLinear) *compute.LinearState {
	s := &compute.LinearState{Weights: values(r, len(l.w), 0, 0.3, 0.1), First: values(r, len(l.first), 0, 0.1, 0), Second: values(r, len(l.second), 0, 0.1, 0), Average: values(r, len(l.average), 0, 0.3, 0)}
	for i, v := range s.Second {
		s.Second[i] = v * v
	}
	return s
}

func labels(r *rand.Rand, c compute.LinearConfig, n int) []float32 {
	labels := values(r, n, 0, 1, 0)
	for i := range labels {
		switch c.Loss {
		case compute.Logistic, compute.Hinge:
			labels[i] = float32(r.IntN(2))
		case compute.Softmax:
			labels[i] = float32(r.IntN(c.Outputs))
		}
	}
	return labels
}

// slice returns rows first to end of a matrix.
func slice(x compute.Matrix, first, end int) compute.Matrix {
	if x.S != nil {
		s := *x.S
		s.Indptr = s.Indptr[first : end+1]
		return compute.Matrix{S: &s}
	}
	g := x.X
	g.Rows = end - first
	if g.Rows == 0 {
		g.Data = nil
	} else {
		g.Data = g.Data[first*g.Stride:]
	}
	return compute.Matrix{X: g}
}

// linearResults returns what some steps come to.
func linearResults(e compute.Engine, x compute.Matrix) (compute.LinearState, []float64) {
	c := linearConfig(compute.Logistic, compute.Adam, x.Cols(), 33)
	c.Average = true
	l := e.NewLinear(c)
	l.SetState(newState(source(1), newNaiveLinear(c)))
	rates := make([]float64, len(c.Models))
	for m := range rates {
		rates[m] = 0.01
	}
	var losses []float64
	for range 2 {
		l.Gradient(x, labels(source(2), c, x.Rows()), nil)
		losses = append(losses, l.Update(0.01, rates, 0.5)...)
	}
	var s compute.LinearState
	l.State(&s)
	return s, losses
}
