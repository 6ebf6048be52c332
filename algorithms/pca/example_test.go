package pca_test

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// points returns rows along a line through the plane, with a little beside it.
func points() channel.Source {
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	for i := range 100 {
		t, beside := float64(i-50), math.Sin(float64(i))
		w.WriteRow([]float32{float32(3*t - 4*beside), float32(4*t + 3*beside)})
	}
	w.Flush()
	return channel.Memory(data.Bytes())
}

func ExampleFit() {
	model, err := pca.Fit(context.Background(), points(), pca.NewParams(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("direction %.2f, explains %.4f\n", model.V.Data, model.ExplainedVarianceRatio()[0])

	x := blas32.General{Rows: 1, Cols: 2, Stride: 2, Data: []float32{30, 40}}
	z := blas32.General{Rows: 1, Cols: 1, Stride: 1, Data: make([]float32, 1)}
	model.Project(z, x)
	fmt.Printf("projection %.1f, and back %.1f\n", z.Data, model.InverseTransform(z).Data)
	// Output:
	// direction [0.60 0.80], explains 0.9994
	// projection [52.5], and back [30.0 40.0]
}

// A model file is what SageMaker's own algorithm writes, and either program reads the other's.
func ExampleModel_WriteTo() {
	model, _ := pca.Fit(context.Background(), points(), pca.NewParams(2))
	var file bytes.Buffer
	if _, err := model.WriteTo(&file); err != nil {
		fmt.Println(err)
		return
	}
	var read pca.Model
	if _, err := read.ReadFrom(&file); err != nil {
		fmt.Println(err)
		return
	}
	for _, j := range read.Descending() {
		fmt.Printf("column %d: %.1f\n", j, read.S[j])
	}
	// Output:
	// column 1: 1443.3
	// column 0: 35.3
}

// What was learned serves any number of components, and goes on with more rows.
func ExampleLearner() {
	learner := pca.NewLearner(pca.NewParams(1))
	// for batch, err := range algorithms.Batches(ctx, train, batching) { learner.Observe(ctx, batch) }
	if _, err := learner.Model(); err != nil {
		fmt.Println(err)
	}
	// Output: channel train: no record in it
}
