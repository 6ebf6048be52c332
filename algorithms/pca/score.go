package pca

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
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
	batching.FeatureDim = m.V.Rows
	for batch, err := range algorithms.Batches(ctx, test, batching) {
		if err != nil {
			return err
		}
		totals[0] += m.reconstructionError(batch.X)
		totals[1] += float64(batch.Rows() * batch.X.Cols)
	}
	return nil
}

// reconstructionError returns Σ‖(x−mean) − v·vᵀ(x−mean)‖² over the rows of x.
func (m *Model) reconstructionError(x blas32.General) float64 {
	projected := blas32.General{Rows: x.Rows, Cols: m.V.Cols, Stride: m.V.Cols, Data: make([]float32, x.Rows*m.V.Cols)}
	m.Project(projected, x)
	rebuilt := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, projected, m.V, 0, rebuilt)
	sum := 0.0
	for i := range x.Rows {
		for j, r := range rebuilt.Data[i*x.Cols:][:x.Cols] {
			e := float64(x.Data[i*x.Stride+j]) - float64(r)
			if m.Mean != nil {
				e -= float64(m.Mean[j])
			}
			sum += e * e
		}
	}
	return sum
}
