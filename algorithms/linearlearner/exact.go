package linearlearner

import (
	"context"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// maxExact is how many weights an exact solution may have: their second derivatives are a matrix of 128 MiB.
const maxExact = 4096

// checkExact refuses what has no exact solution here.
func (p *Params) checkExact() error {
	switch {
	case !p.Exact:
		return nil
	case !slices.Contains([]string{"squared_loss", "logistic", "softmax_loss"}, p.loss()):
		return problem("_exact", "true: there is no exact solution for loss %s here, but for squared_loss, logistic and softmax_loss", p.loss())
	case p.L1.Or(0) > 0:
		return problem("_exact", "true: there is no exact solution with l1 here; leave l1 out, or set it to 0")
	case p.NumModels.Or(1) > 1:
		return problem("_exact", "true: there is one exact solution, and num_models is %d; leave it out", p.NumModels.Or(1))
	}
	return nil
}

// checkExactSize refuses problems that are too large.
func (p *Params) checkExactSize(d int) error {
	if n := (float64(d) + 1) * float64(p.outputs()); p.Exact && n > maxExact {
		return algospec.ClientErrorf("hyperparameter _exact: %d features and %d outputs have %v weights with biases, more than %d; leave _exact out",
			d, p.outputs(), n, maxExact)
	}
	return nil
}

// exactSetting is the one setting of an exact solution. Where wd is auto it is that of scikit-learn's defaults: 0 for
// squared_loss, as LinearRegression, and 1/rows otherwise, as LogisticRegression with C=1; NaN stands for that until rows are counted.
func (p *Params) exactSetting(balanced float64) Setting {
	s := Setting{Optimizer: "newton", WD: p.WD.Or(math.NaN()), positive: p.positive(0, 1, balanced, false)}
	if p.WD.IsAuto() && p.loss() == "squared_loss" {
		s.WD = 0
	}
	return s
}

// An exactSolver minimises, in float64 and by Newton's method, over scaled features x and labels y,
//
//	Σ weight·loss(w·x + b, y) / Σ weight  +  wd/2·(|w|² + bias_wd_mult·b²)
//
// where the loss of squared_loss is half the square: scikit-learn's LogisticRegression of C = 1/(wd·n) and Ridge of alpha = wd·n.
// Each step takes a pass over the channel train, all rows of it. Parameter j of output k is at k·(d+1)+j, the bias last.
type exactSolver struct {
	t       *training
	d, k    int
	w, step []float64
	sums    []float64 // loss, weights, rows, gradient, second derivatives row by row: what hosts add up

	// Of the rows that are worked on:
	z             []float64
	p             []float64 // of the classes, or label 1, in one row
	probabilities []float64 // of all rows
	weights       []float64
	rows          []float32 // times the roots of their second derivatives, with 1 last
	gram          compute.Gram
	sum, outer    []float64
}

const (
	exactPasses    = 100
	exactTolerance = 1e-12 // of the objective, which a step still promises
)

// solve finds the exact solution. After every step it is the model that a stop leaves. There are no snapshots: a job that starts again
// makes its few passes anew.
func (t *training) solve(ctx context.Context) error {
	if err := t.readSample(ctx); err != nil {
		return err
	}
	d := len(t.Scaler.Mean)
	if err := t.p.checkExactSize(d); err != nil {
		return err
	}
	t.Scaler.Sparse = false // rows are narrow
	t.batching.FeatureDim, t.batching.MaxColumns, t.batching.Sparse = d, 0, false
	t.settings = []Setting{t.p.exactSetting(t.Scaler.Balanced)}
	s := newExactSolver(t, d)
	last, scale := math.Inf(1), 1.0
	for ; t.Epoch < exactPasses; t.Epoch++ {
		pass := algorithms.Pass{Began: time.Now()}
		objective, err := s.pass(ctx, &pass)
		if err != nil {
			return err
		}
		if math.IsNaN(objective) || math.IsInf(objective, 0) {
			return algospec.ClientErrorf("the exact solution is infinite or no number: the features or labels are too large")
		}
		if objective > last+1e-9*math.Abs(last) && scale > 1e-3 { // too far: half the way back
			scale /= 2
			for i, v := range s.step {
				s.w[i] -= scale * v
			}
			t.reportExact(&pass, objective, math.NaN())
			continue
		}
		last, scale = objective, 1
		s.keep(objective)
		t.History.add([]float64{objective}, nil)
		promise := s.newton()
		t.reportExact(&pass, objective, promise)
		if promise <= exactTolerance*max(math.Abs(objective), 1e-3) {
			t.Epoch++
			break
		}
		for i, v := range s.step {
			s.w[i] += v
		}
	}
	if t.Epoch == exactPasses {
		t.report.Warnf("The solution has not settled after %d passes; a larger wd makes that easier.", exactPasses)
	}
	t.Finished = true
	return nil
}

func newExactSolver(t *training, d int) *exactSolver {
	k := t.p.outputs()
	m := k * (d + 1)
	s := &exactSolver{t: t, d: d, k: k, w: make([]float64, m), step: make([]float64, m), sums: make([]float64, 3+m+m*m)}
	s.z, s.probabilities, s.weights = make([]float64, k), make([]float64, exactRows*k), make([]float64, exactRows)
	s.rows, s.gram = make([]float32, exactRows*(d+1)), t.engine.NewGram(make([]float32, d+1))
	s.sum, s.outer = make([]float64, d+1), make([]float64, (d+1)*(d+1))
	return s
}

// gradient and second return where in the sums they are.
func (s *exactSolver) gradient() []float64 { return s.sums[3 : 3+len(s.w)] }
func (s *exactSolver) second() []float64   { return s.sums[3+len(s.w):] }

// pass reads the channel train and returns the objective at w; the sums hold its derivatives.
func (s *exactSolver) pass(ctx context.Context, pass *algorithms.Pass) (float64, error) {
	t := s.t
	clear(s.sums)
	if train := t.job.Channels["train"]; train != nil {
		for batch, err := range algorithms.Batches(ctx, train, t.batching) {
			if err != nil {
				return 0, err
			}
			pass.Add(batch)
			if err := t.checkLabels(train.Name, batch); err != nil {
				return 0, err
			}
			t.Scaler.apply(batch)
			t.Scaler.applyLabels(batch)
			s.add(batch, t.rowWeights(batch))
		}
	}
	if err := t.job.Cluster.AllReduce(ctx, s.sums); err != nil {
		return 0, err
	}
	weight := s.sums[1]
	if weight == 0 {
		return 0, algospec.ClientErrorf("channel train: %w", errNoWeight)
	}
	setting := &t.settings[0]
	if math.IsNaN(setting.WD) {
		setting.WD = 1 / weight
	}
	for i := range s.sums[3:] {
		s.sums[3+i] /= weight
	}
	return s.sums[0]/weight + s.penalise(), nil
}

// exactRows is how many rows are worked on at a time, so that memory does not depend on the size of batches.
const exactRows = 512

// add adds the rows of a batch.
func (s *exactSolver) add(batch *algorithms.Batch, weights []float32) {
	for first := 0; first < batch.Rows(); first += exactRows {
		s.addRows(batch, weights, first, min(exactRows, batch.Rows()-first))
	}
}

// addRows adds n rows of a batch: to the loss and the gradient one by one, and to the second derivatives pair by pair of outputs.
func (s *exactSolver) addRows(batch *algorithms.Batch, weights []float32, first, n int) {
	gradient := s.gradient()
	for i := range n {
		row, y, weight := batch.Row(first+i), batch.Labels[first+i], 1.0
		if weights != nil {
			weight = float64(weights[first+i])
		}
		s.sums[1] += weight
		s.sums[2]++
		if s.t.p.PredictorType == binaryClassifier && y != 0 {
			weight *= s.t.settings[0].positive
		}
		s.weights[i] = weight
		s.p = s.probabilities[i*s.k:][:s.k]
		s.sums[0] += weight * s.score(row, y)
		for k := range s.k {
			slope := weight * s.slope(k, y)
			to := gradient[k*(s.d+1):][:s.d+1]
			for j, x := range row {
				to[j] += slope * float64(x)
			}
			to[s.d] += slope
		}
	}
	width := s.d + 1
	for k := range s.k {
		for l := k; l < s.k; l++ {
			for i := range n {
				root := float32(math.Sqrt(s.weights[i] * s.curvature(s.probabilities[i*s.k:], k, l)))
				to := s.rows[i*width:][:width]
				for j, x := range batch.Row(first + i) {
					to[j] = root * x
				}
				to[s.d] = root
			}
			s.gram.Add(compute.Matrix{X: blas32.General{Rows: n, Cols: width, Stride: width, Data: s.rows[:n*width]}})
			s.collect(k, l)
		}
	}
}

// score computes z and what it is worth, and returns the row's loss.
func (s *exactSolver) score(row []float32, y float32) float64 {
	for k := range s.z {
		w := s.w[k*(s.d+1):][:s.d+1]
		sum := w[s.d]
		for j, x := range row {
			sum += w[j] * float64(x)
		}
		s.z[k] = sum
	}
	switch s.t.p.loss() {
	case "softmax_loss":
		softmax(s.p, s.z)
		return crossEntropy(s.z, int(y))
	case "logistic":
		s.p[0] = 1 / (1 + math.Exp(-s.z[0]))
		value, _ := compute.Logistic.At(s.z[0], float64(y), 0)
		return value
	}
	return (s.z[0] - float64(y)) * (s.z[0] - float64(y)) / 2
}

// slope returns the derivative of the row's loss by score k.
func (s *exactSolver) slope(k int, y float32) float64 {
	switch s.t.p.loss() {
	case "softmax_loss":
		if int(y) == k {
			return s.p[k] - 1
		}
		return s.p[k]
	case "logistic":
		return s.p[0] - float64(y)
	}
	return s.z[0] - float64(y)
}

// curvature returns the second derivative by scores k and l of the loss of a row with probabilities p; that of two different ones, which
// is not positive, without its sign.
func (s *exactSolver) curvature(p []float64, k, l int) float64 {
	switch {
	case s.t.p.loss() == "squared_loss":
		return 1
	case k == l:
		return p[k] * (1 - p[k])
	}
	return p[k] * p[l]
}

// collect adds what the Gram has, of outputs k and l, to the second derivatives.
func (s *exactSolver) collect(k, l int) {
	n, m := s.d+1, len(s.w)
	clear(s.outer)
	s.gram.Sums(s.sum, s.outer)
	sign := 1.0
	if k != l {
		sign = -1
	}
	second := s.second()
	for i := range n {
		for j := i; j < n; j++ {
			v := sign * s.outer[i*n+j]
			second[(k*n+i)*m+l*n+j] += v
			if i != j { // of different outputs; below the diagonal otherwise
				second[(k*n+j)*m+l*n+i] += v
			}
		}
	}
}

// penalise adds the penalty to the derivatives, and returns it. Without biases their derivatives are 0.
func (s *exactSolver) penalise() (penalty float64) {
	n, m := s.d+1, len(s.w)
	gradient, second := s.gradient(), s.second()
	wd := s.t.settings[0].WD
	for i, w := range s.w {
		decay := wd
		if i%n == s.d {
			decay *= s.t.p.BiasWDMult.Or(0)
			if !s.t.p.UseBias.Or(true) {
				gradient[i] = 0
				for j := range m {
					second[i*m+j], second[j*m+i] = 0, 0
				}
			}
		}
		penalty += decay * w * w / 2
		gradient[i] += decay * w
		second[i*m+i] += decay
	}
	return penalty
}

// newton finds the step to the minimum of the parabola, and returns how far that is below. What the data do not
// determine, as of features that depend on each other, hardly moves: the diagonal is a little larger than it is.
func (s *exactSolver) newton() float64 {
	m := len(s.w)
	a := make([]float64, m*m)
	top := 0.0
	for i := range m {
		top = max(top, s.second()[i*m+i])
	}
	for more := 1e-12; ; more *= 10 {
		copy(a, s.second())
		for i := range m {
			a[i*m+i] += more * max(top, math.SmallestNonzeroFloat32)
		}
		factor, ok := lapack64.Potrf(blas64.Symmetric{N: m, Stride: m, Data: a, Uplo: blas.Upper})
		if !ok && more < 1 {
			continue
		}
		for i, g := range s.gradient() {
			s.step[i] = -g
		}
		if ok {
			lapack64.Potrs(factor, blas64.General{Rows: m, Cols: 1, Stride: 1, Data: s.step})
		}
		break
	}
	promise := 0.0
	for i, g := range s.gradient() {
		promise -= g * s.step[i] / 2
	}
	return promise
}

// keep makes the weights those of the best model.
func (s *exactSolver) keep(objective float64) {
	t := s.t
	t.best = t.best[:0]
	for j := range s.d + 1 {
		for k := range s.k {
			t.best = append(t.best, float32(s.w[k*(s.d+1)+j]))
		}
	}
	t.Best = pair{Epoch: t.Epoch, Value: objective, Any: true}
}

// reportExact prints the lines of a pass; promise is NaN where it went too far.
func (t *training) reportExact(pass *algorithms.Pass, objective, promise float64) {
	t.report.Infof("Exact solution, pass %d: the objective with its penalty is %v, and can fall by %.3g.", t.Epoch, objective, promise)
	t.seen.Add(*pass)
	t.report.Counts(algorithms.Dimensions{Epoch: &t.Epoch, Meta: "training_data_iter"}, t.seen, *pass)
	t.report.Throughput(*pass)
}
