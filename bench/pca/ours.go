package main

import (
	"context"
	"os"
	"strconv"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/bench/internal/jobs"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

func engine() string { return compute.Default().Name() }

// batchRows is how many rows a batch has; the model does not depend on it.
const batchRows = 5000

// fit learns from the rows in memory, a batch at a time.
func (b *bench) fit(ctx context.Context) (*model, error) {
	learner := pca.NewLearner(pca.Params{NumComponents: components, SubtractMean: true})
	for i := 0; i < b.data.Rows(); i += batchRows {
		if err := learner.Observe(ctx, algorithms.NewBatch(b.data.Batch(i, min(i+batchRows, b.data.Rows())), nil)); err != nil {
			return nil, err
		}
	}
	m, err := learner.Model()
	if err != nil {
		return nil, err
	}
	return told(m), nil
}

// train runs a whole job on the file.
func (b *bench) train(ctx context.Context) (*model, error) {
	result, err := jobs.Run(ctx, b.dir, pca.Train, channel.File(b.recorded), hyperparams.Map{
		"feature_dim": strconv.Itoa(b.data.Cols()), "mini_batch_size": strconv.Itoa(batchRows), "num_components": strconv.Itoa(components),
	})
	if err != nil {
		return nil, err
	}
	m := new(pca.Model)
	if err := result.Read(pca.ModelFile, m); err != nil {
		return nil, err
	}
	return told(m), os.RemoveAll(result.Dir)
}

// told turns a model, whose components are columns from the smallest to the largest.
func told(m *pca.Model) *model {
	t := new(model)
	k := len(m.S)
	for j := range k {
		from := k - 1 - j
		row := make([]float64, m.V.Rows)
		for i := range row {
			row[i] = float64(m.V.Data[i*m.V.Stride+from])
		}
		t.Singular, t.Components = append(t.Singular, float64(m.S[from])), append(t.Components, row)
	}
	return t
}
