package pca

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
)

// score reports how well the components reconstruct the test channel.
func score(ctx context.Context, test *channel.Channel, m *Model, p Params, report *algorithms.Report) error {
	batching := p.Batching
	batching.FeatureDim = m.V.Rows
	squares, numbers := 0.0, 0.0
	for batch, err := range algorithms.Batches(ctx, test, batching) {
		if err != nil {
			return err
		}
		squares += m.reconstructionError(batch.X)
		numbers += float64(batch.Rows() * batch.X.Cols)
	}
	if numbers == 0 {
		report.Warnf("The test channel holds no record.")
		return nil
	}
	report.Quality("test mse", "loss", squares/numbers)
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
