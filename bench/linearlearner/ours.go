package main

import (
	"context"
	"math"
	"os"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/bench/internal/jobs"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

var engine = compute.Default()

const batchRows = 1000 // the original's default

// grid returns the original's 32 models (builtin-algorithms, 4.4), or one whose rate is between theirs.
func grid(models int) []linearlearner.Setting {
	settings := make([]linearlearner.Setting, models)
	for i := range settings {
		settings[i] = linearlearner.Setting{
			Step: []int{10, 100}[i&1], MinimumLR: []float64{1e-5, 1e-4}[i>>1&1], LearningRate: []float64{0.005, 0.1}[i>>2&1],
			WD: []float64{1e-4, 0.01, 1, 100}[i>>3&3], Factor: 0.99,
		}
	}
	if models == 1 {
		settings[0].LearningRate, settings[0].WD = 0.03, 0
	}
	return settings
}

// fit trains models of these settings side by side on the rows in memory, by Adam, and returns how to judge the best of them: what
// training does with a batch.
func (b *bench) fit(settings []linearlearner.Setting, epochs int) (judge func() worth) {
	const beta1, beta2 = 0.9, 0.999
	config := compute.LinearConfig{Features: b.data.Cols(), Outputs: 1, Loss: b.loss, Optimizer: compute.Adam, Beta1: beta1, Beta2: beta2, BiasRate: 10}
	rates, since, at := make([]float64, len(settings)), make([]int, len(settings)), make([]float64, len(settings))
	for i, s := range settings {
		config.Models = append(config.Models, compute.LinearModel{Decay: s.WD})
		at[i] = s.LearningRate
	}
	on := engine.NewLinear(config)
	losses := make([]float64, len(settings)) // of the last pass
	step := 0
	for range epochs {
		clear(losses)
		for i, x := range b.batches {
			step++
			correction := math.Sqrt(1-math.Pow(beta2, float64(step))) / (1 - math.Pow(beta1, float64(step)))
			for m, s := range settings {
				for step > since[m]+s.Step {
					since[m] += s.Step
					at[m] = max(at[m]*s.Factor, s.MinimumLR)
				}
				rates[m] = at[m] * correction
			}
			on.Gradient(x, b.data.Labels[i*batchRows:][:batchRows], nil)
			for m, loss := range on.Update(1./batchRows, rates, 0) {
				losses[m] += loss
			}
		}
	}
	best := 0
	for m, loss := range losses {
		if loss < losses[best] {
			best = m
		}
	}
	return func() worth { return b.judge(on, len(settings), best) }
}

// judge tells what one of the models is worth.
func (b *bench) judge(on compute.Linear, models, best int) worth {
	n := len(b.batches) * batchRows
	z := blas32.General{Rows: batchRows, Cols: models, Stride: models, Data: make([]float32, batchRows*models)}
	var loss, right float64
	for i, x := range b.batches {
		on.Scores(x, z)
		for r := range batchRows {
			score, label := float64(z.Data[r*models+best]), float64(b.data.Labels[i*batchRows+r])
			if b.loss == compute.Squared {
				loss += (score - label) * (score - label)
				continue
			}
			t := 2*label - 1
			loss += math.Log1p(math.Exp(-t * score))
			if t*score > 0 {
				right++
			}
		}
	}
	return worth{loss / float64(n), right / float64(n)}
}

// train runs a whole job on the file: a sample for the scaler, a pass that trains, one for the scores of the model.
func (b *bench) train(ctx context.Context, models int) (judge func() worth, err error) {
	result, err := jobs.Run(ctx, b.dir, linearlearner.Train, channel.File(b.recorded), hyperparams.Map{
		"predictor_type": "binary_classifier", "mini_batch_size": strconv.Itoa(batchRows), "epochs": "1", "num_models": strconv.Itoa(models),
	})
	if err != nil {
		return nil, err
	}
	accuracy, err := result.Metric("train binary_classification_accuracy <score>")
	if err != nil {
		return nil, err
	}
	return func() worth { return worth{Accuracy: accuracy} }, os.RemoveAll(result.Dir)
}
