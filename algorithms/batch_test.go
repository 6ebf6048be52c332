package algorithms_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
)

func TestABatchOfRowsInMemory(t *testing.T) {
	x := blas32.General{Rows: 3, Cols: 2, Stride: 3, Data: []float32{1, 2, -1, 3, 4, -1, 5, 6}} // -1 is no feature
	b := algorithms.NewBatch(x, []float32{10, 20, 30})
	require.Equal(t, 3, b.Rows())
	require.Equal(t, []float32{3, 4}, b.Row(1))
	require.Equal(t, []float32{30}, b.Label(2))
	sums := make([]float64, 2)
	b.ColumnSums(sums)
	require.Equal(t, []float64{9, 12}, sums)

	require.Equal(t, 0, algorithms.NewBatch(x, nil).LabelSize)
	require.PanicsWithValue(t, "algorithms: 4 labels of 3 rows", func() { algorithms.NewBatch(x, make([]float32, 4)) })
}
