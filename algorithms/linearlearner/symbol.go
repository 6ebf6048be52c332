package linearlearner

import (
	"encoding/json"
	"fmt"
)

// symbol returns the MXNet graph of the model, which people load to read the weights: data·fc0_weight + fc0_bias, and an output
// (builtin-algorithms, 4.7).
func symbol(loss string, d, outputs int) []byte {
	type attributes map[string]string
	type node struct {
		Op     string     `json:"op"`
		Name   string     `json:"name"`
		Attrs  attributes `json:"attrs,omitempty"`
		Inputs [][3]int   `json:"inputs"`
	}
	output := node{Op: "LinearRegressionOutput", Name: "linearregressionoutput0"}
	switch loss {
	case "logistic":
		output = node{Op: "LogisticRegressionOutput", Name: "logisticregressionoutput0"}
	case "softmax_loss":
		output = node{Op: "SoftmaxOutput", Name: "softmaxoutput0"}
	}
	output.Inputs = [][3]int{{4, 0, 0}, {5, 0, 0}}
	none := [][3]int{}
	text, err := json.MarshalIndent(struct {
		Nodes  []node         `json:"nodes"`
		Args   []int          `json:"arg_nodes"`
		RowPtr []int          `json:"node_row_ptr"`
		Heads  [][3]int       `json:"heads"`
		Attrs  map[string]any `json:"attrs"`
	}{
		Nodes: []node{
			{"null", "data", nil, none},
			{"null", "fc0_weight", attributes{"__shape__": fmt.Sprintf("(%d, %d)", d, outputs)}, none},
			{"dot", "dot0", nil, [][3]int{{0, 0, 0}, {1, 0, 0}}},
			{"null", "fc0_bias", attributes{"__lr_mult__": "10.0", "__shape__": fmt.Sprintf("(1, %d)", outputs)}, none},
			{"broadcast_add", "broadcast_plus0", nil, [][3]int{{2, 0, 0}, {3, 0, 0}}},
			{"null", "out_label", nil, none},
			output,
		},
		Args:   []int{0, 1, 3, 5},
		RowPtr: []int{0, 1, 2, 3, 4, 5, 6, 7},
		Heads:  [][3]int{{6, 0, 0}},
		Attrs:  map[string]any{"mxnet_version": []any{"int", 10301}},
	}, "", "  ")
	if err != nil {
		panic(err) // of our own structs
	}
	return text
}
