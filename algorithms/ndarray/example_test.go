package ndarray_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/algospec/algospec/algorithms/ndarray"
)

// A PCA model: written as mx.nd.save would, and read back.
func Example() {
	model := &ndarray.File{Arrays: []ndarray.Array{
		ndarray.New("s", []float32{3, 1}),
		ndarray.New("v", []float32{1, 0, 0, 1, 0, 0}, 3, 2),
	}}
	var artifact bytes.Buffer
	if _, err := model.WriteTo(&artifact); err != nil {
		log.Fatal(err)
	}

	var file ndarray.File
	if _, err := file.ReadFrom(&artifact); err != nil {
		log.Fatal(err)
	}
	v, err := file.Array("v")
	if err != nil {
		log.Fatal(err)
	}
	data, err := ndarray.Values[float32](v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Name, v.DType(), v.Shape(), data)
	// Output: v float32 [3 2] [1 0 0 1 0 0]
}
