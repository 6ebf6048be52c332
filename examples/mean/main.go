// Mean is an author's own algorithm as a training container: it learns the mean of each feature.
package main

import (
	"context"
	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"gonum.org/v1/gonum/floats"
)

func main() { algospec.Main(train) }

func train(ctx context.Context, job *algospec.Job, p algorithms.Batching) error {
	sums := make([]float64, p.FeatureDim+1) // of each feature, and the number of rows
	for batch, err := range algorithms.Batches(ctx, job.Channel("train"), p) {
		if err != nil {
			return err
		}
		batch.ColumnSums(sums)
		sums[p.FeatureDim] += float64(batch.Rows())
	}
	if err := job.Cluster.AllReduce(ctx, sums); err != nil {
		return err
	}
	floats.Scale(1/sums[p.FeatureDim], sums)
	return job.Model.Save("mean.json", algospec.JSON(sums[:p.FeatureDim]))
}
