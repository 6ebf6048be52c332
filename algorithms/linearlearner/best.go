package linearlearner

import (
	"context"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
)

// compare finds the best model at the end of an epoch, keeps it if it is the best so far, and decides whether training goes on.
func (t *training) compare(ctx context.Context, pass algorithms.Pass) error {
	train := make([]float64, len(t.settings))
	for m := range train {
		train[m] = t.Losses[m] / t.Rows
	}
	validation, err := t.validate(ctx)
	if err != nil {
		return err
	}
	values, name := train, t.objective()
	if validation != nil {
		values, name = validation.values, validation.name
	}
	began := time.Now()
	best := t.bestOf(values)
	if best < 0 {
		return algospec.ClientErrorf("the loss of every model is infinite or no number at the end of epoch %d: try a smaller learning_rate", t.Epoch)
	}
	if !t.Best.Any || t.better(values[best], t.Best.Value) {
		t.Best = pair{Model: best, Epoch: t.Epoch, Value: values[best], Any: true}
		t.best = t.weightsOf(best, t.best)
	}
	stop := t.Stopping.Observe(values[best])
	t.times.check.add(time.Since(began))
	t.History.add(train, validation)
	t.reportEpoch(pass, train, validation, name, values[best], stop, t.Stopping.Bad == 0)
	t.Epoch++
	t.Finished = stop || t.Epoch == t.p.Epochs
	t.Rows = 0
	clear(t.Losses)
	return nil
}

// bestOf returns the model of the best value, -1 where none is a number. Models that have diverged, whatever their value, are
// left out.
func (t *training) bestOf(values []float64) int {
	t.linear.State(&t.copy)
	best := -1
	var weights []float32
	for m, v := range values {
		if weights = t.weightsOf(m, weights); slices.ContainsFunc(weights, infinite) {
			continue
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) && (best < 0 || t.better(v, values[best])) {
			best = m
		}
	}
	return best
}

func (t *training) better(a, b float64) bool {
	if t.Stopping.Maximize {
		return a > b
	}
	return a < b
}

func infinite(x float32) bool { return x-x != 0 }

// weightsOf copies the weights of a model out of copy, to memory that is used again.
func (t *training) weightsOf(model int, memory []float32) []float32 {
	outputs := t.p.outputs()
	columns := len(t.settings) * outputs
	weights := t.copy.Weights
	if t.p.Average.Or(true) {
		weights = t.copy.Average
	}
	memory = memory[:0]
	for begin := model * outputs; begin < len(weights); begin += columns {
		memory = append(memory, weights[begin:][:outputs]...)
	}
	return memory
}

// bestModel returns the best model, for raw features.
func (t *training) bestModel() *Model {
	outputs := t.p.outputs()
	d := len(t.best)/outputs - 1
	weights, bias := t.Scaler.unscale(t.best[:d*outputs], t.best[d*outputs:])
	if t.p.loss() == "hinge_loss" { // a score that is 0 and 1 where z is −1 and 1, as the labels are
		for i := range weights {
			weights[i] /= 2
		}
		bias[0] = (bias[0] + 1) / 2
	}
	return &Model{
		PredictorType: t.p.PredictorType, Loss: t.p.loss(), Threshold: neutral,
		Weights: blas32.General{Rows: d, Cols: outputs, Stride: outputs, Data: weights}, Bias: bias,
		Metrics: t.p.metricsParams(t.settings[t.Best.Model], t.Scaler),
	}
}

func (p *Params) metricsParams(s Setting, scaler *scaler) (m MetricsParams) {
	m.AccuracyTopK, m.ClassWeights = &p.AccuracyTopK, scaler.ClassWeights
	m.PositiveExampleWeightMult = &s.positive
	if p.PredictorType != regressor {
		beta := p.beta()
		m.FBeta = &beta
	}
	switch p.loss() {
	case "hinge_loss":
		margin := p.Margin.Or(1)
		m.Margin = &margin
	case "quantile_loss":
		m.Quantile = &p.Quantile
	case "huber_loss":
		delta := p.HuberDelta.Or(1)
		m.HuberDelta = &delta
	case "eps_insensitive_squared_loss", "eps_insensitive_absolute_loss":
		m.LossInsensitivity = &p.LossInsensitivity
		kind := map[bool]string{true: "squared", false: "absolute"}[p.loss() == "eps_insensitive_squared_loss"]
		m.EpsInsensitiveLossType = &kind
	}
	return m
}
