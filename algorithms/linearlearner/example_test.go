package linearlearner_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/channel"
)

func ExampleFitChannels() {
	// The label, and the two features that it is made of: 1 + 2·x + 3·y.
	var rows []byte
	for i := range 400 {
		x, y := i%20, i*7%11
		rows = fmt.Appendf(rows, "%d,%d,%d\n", 1+2*x+3*y, x, y)
	}
	train := &channel.Channel{Name: "train", Source: channel.Memory(rows), Config: channel.Config{ContentType: "text/csv"}}
	model, err := linearlearner.FitChannels(context.Background(), linearlearner.Params{PredictorType: "regressor", MiniBatchSize: 20}, train, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f + %.1f·x + %.1f·y\n", model.Bias[0], model.Weights.Data[0], model.Weights.Data[1])
	row := blas32.General{Rows: 1, Cols: 2, Stride: 2, Data: []float32{10, 5}}
	fmt.Printf("%.0f\n", model.Predict(compute.Matrix{X: row})[0].Score[0])
	// Output:
	// 1.0 + 2.0·x + 3.0·y
	// 36
}

// The exact solution of the same rows, to be read by people.
func ExampleModel_Coefficients() {
	var rows []byte
	for i := range 400 {
		rooms, age := i%8, i*7%90
		rows = fmt.Appendf(rows, "%d,%d,%d\n", 50+20*rooms-age/2*2, rooms, age/2*2)
	}
	train := &channel.Channel{Name: "train", Source: channel.Memory(rows), Config: channel.Config{ContentType: "text/csv"}}
	p := linearlearner.Params{PredictorType: "regressor", MiniBatchSize: 100, Exact: true}
	model, err := linearlearner.FitChannels(context.Background(), p, train, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	coefficients, err := model.Coefficients([]string{"rooms", "age"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f\n", coefficients.Intercept[0])
	for _, f := range coefficients.Features {
		fmt.Printf("%s %.2f\n", f.Name, f.Coefficient[0])
	}
	// Output:
	// 50.0
	// rooms 20.00
	// age -1.00
}
