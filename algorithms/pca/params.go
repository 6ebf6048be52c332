package pca

import (
	"errors"
	"fmt"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/hyperparams"
)

// Params are the hyperparameters (builtin-algorithms, 2.1). Those whose names begin with "_" are ours.
type Params struct {
	// FeatureDim is checked against the data with a warning only, as by the original.
	algorithms.Batching

	NumComponents   int    `hyperparameter:"num_components,required" range:"[1,)"`
	AlgorithmMode   string `default:"regular" enum:"regular,randomized,stable"` // stable is an old name of regular
	SubtractMean    bool   `default:"true"`
	ExtraComponents int    `default:"-1" enum:"-1" range:"[0,)"` // of randomized mode; -1 means max(10, num_components)
	ForceDense      bool   `default:"true"`                      // makes sparse rows dense; false leaves them sparse
	Epochs          int    `default:"1" enum:"1"`

	Seed      int64 `hyperparameter:"_seed" default:"0"`           // of the random choices of randomized mode
	SaveState bool  `hyperparameter:"_save_state" default:"false"` // saves StateFile beside the model
}

// NewParams returns the defaults for k components: regular mode, about the mean, batches of 500 rows.
func NewParams(k int) Params {
	return Params{
		Batching:      algorithms.Batching{MiniBatchSize: 500},
		NumComponents: k, AlgorithmMode: "regular", SubtractMean: true, ExtraComponents: -1, ForceDense: true, Epochs: 1,
	}
}

// Validate checks what concerns several hyperparameters.
func (p *Params) Validate() error {
	if p.NumComponents > p.FeatureDim {
		return &hyperparams.Problem{Name: "num_components", Err: fmt.Errorf("%d: more than feature_dim, %d", p.NumComponents, p.FeatureDim)}
	}
	return nil
}

func (p *Params) randomized() bool { return p.AlgorithmMode == "randomized" }

// sketchRows returns how many directions randomized mode keeps.
func (p *Params) sketchRows() int {
	extra := p.ExtraComponents // the product with features is bounded by maxSketch
	if extra < 0 {
		extra = max(10, p.NumComponents)
	}
	return p.NumComponents + extra
}

// executor is the original's name of what does the work.
func (p *Params) executor() string {
	if p.randomized() {
		return "<RandomizedPCAExecutor on cpu(0)>"
	}
	return "<PCAExecutor on cpu(0)>"
}

// batching returns how the data are read: as wide as they are.
func (p *Params) batching() algorithms.Batching {
	b := p.Batching
	b.Sparse = !p.ForceDense
	b.MaxColumns = maxFeatures
	if p.randomized() {
		b.MaxColumns = maxSketch / p.sketchRows()
		b.MaxColumns = max(b.MaxColumns, 1)
	}
	return b
}

// hint adds to an error of data that are too wide what takes them.
func (p *Params) hint(err error) error {
	if wide, ok := errors.AsType[*algorithms.WidthError](err); ok && !p.randomized() {
		return fmt.Errorf("%w; algorithm_mode=randomized takes up to %d with these components", err, maxSketch/p.sketchRows())
	} else if ok && wide.Limit < maxSketch {
		return fmt.Errorf("%w in randomized mode with %d components and extra components", err, p.sketchRows())
	}
	return err
}
