package pca

import (
	"errors"
	"fmt"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/hyperparams"
)

// Params are the hyperparameters (builtin-algorithms, 2.1).
type Params struct {
	// FeatureDim is checked against the data with a warning only, as by the original.
	algorithms.Batching

	NumComponents   int    `hyperparameter:"num_components,required" range:"[1,)"`
	AlgorithmMode   string `default:"regular" enum:"regular,randomized,stable"` // stable is an old name of regular
	SubtractMean    bool   `default:"true"`
	ExtraComponents int    `default:"-1" enum:"-1" range:"[0,)"` // of randomized mode; without effect in regular mode
	ForceDense      bool   `default:"true"`                      // sparse rows are always made dense
	Epochs          int    `default:"1" enum:"1"`
}

// Validate checks what concerns several hyperparameters.
func (p *Params) Validate() error {
	if p.AlgorithmMode == "randomized" {
		return &hyperparams.Problem{Name: "algorithm_mode", Err: errors.New("randomized is not part of this version; regular is exact")}
	}
	if p.NumComponents > p.FeatureDim {
		return &hyperparams.Problem{Name: "num_components", Err: fmt.Errorf("%d: more than feature_dim, %d", p.NumComponents, p.FeatureDim)}
	}
	return nil
}
