package pca

import (
	"context"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/channel"
)

// score reports how well the components reconstruct the test channels of all hosts. A host without one
// takes part in the sum: hosts of other instance groups may have it.
func score(ctx context.Context, job *algospec.Job, m *Model, p Params, report *algorithms.Report) error {
	totals := make([]float64, 3) // squared errors, numbers, channels
	if test, ok := job.Channels["test"]; ok {
		if err := m.sumErrors(ctx, test, p, totals); err != nil {
			return err
		}
		totals[2] = 1
	} else {
		report.Infof("Test data is not provided.")
	}
	if err := job.Cluster.AllReduce(ctx, totals); err != nil {
		return err
	}
	switch squares, numbers, channels := totals[0], totals[1], totals[2]; {
	case !job.Cluster.Leader() || channels == 0:
	case numbers == 0:
		report.Warnf("The test channel holds no record.")
	default:
		report.Quality("test mse", "loss", squares/numbers)
	}
	return nil
}

// sumErrors adds the squares of a channel's errors, and how many they are, to the totals.
func (m *Model) sumErrors(ctx context.Context, test *channel.Channel, p Params, totals []float64) error {
	batching := p.Batching
	batching.FeatureDim, batching.Sparse = m.V.Rows, !p.ForceDense
	for batch, err := range algorithms.Batches(ctx, test, batching) {
		if err != nil {
			return err
		}
		totals[0] += m.SquaredError(compute.Of(batch))
		totals[1] += float64(batch.Rows()) * float64(m.V.Rows)
	}
	return nil
}
