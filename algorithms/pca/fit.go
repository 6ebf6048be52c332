package pca

import (
	"context"
	"iter"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
)

// Fit learns a model from the rows of a source, RecordIO-protobuf, with no container around it. NewParams has
// parameters to begin with; FeatureDim need not be set.
func Fit(ctx context.Context, src channel.Source, p Params) (*Model, error) {
	return FitChannel(ctx, &channel.Channel{Name: "train", Source: src}, p)
}

// FitChannel is Fit of a channel, whose content type says in which format its rows are.
func FitChannel(ctx context.Context, c *channel.Channel, p Params) (*Model, error) {
	if p.MiniBatchSize == 0 {
		p.MiniBatchSize = NewParams(1).MiniBatchSize
	}
	model, err := FitBatches(ctx, algorithms.Batches(ctx, c, p.batching()), p)
	return model, p.hint(err)
}

// FitBatches is Fit of batches, wherever they come from.
func FitBatches(ctx context.Context, batches iter.Seq2[*algorithms.Batch, error], p Params) (*Model, error) {
	if p.NumComponents < 1 {
		return nil, algospec.ClientErrorf("pca: %d components", p.NumComponents)
	}
	learner := NewLearner(p)
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		if err := learner.Observe(ctx, batch); err != nil {
			return nil, err
		}
	}
	return learner.Model()
}
