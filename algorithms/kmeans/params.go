package kmeans

import (
	"cmp"
	"fmt"
	"math"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/hyperparams"
)

// Params are the hyperparameters (builtin-algorithms, 3.1). Those whose names begin with _ are ours, but for _num_slices.
type Params struct {
	algorithms.Batching `default:"mini_batch_size=5000"`

	K                    int                   `hyperparameter:"k,required" range:"[1,2147483647]" aka:"num_clusters,clusters"`
	Epochs               int                   `default:"1" range:"[1,2147483647]"`
	InitMethod           string                `default:"random" enum:"random,kmeans++,kmeans||"`
	ExtraCenterFactor    hyperparams.Auto[int] `range:"[1,2147483647]" aka:"center_factor"` // K = k·this centers are trained; auto is 10
	HalfLifeTimeSize     int                   `default:"0" range:"[0,)"`                   // rows after which a count is halved; 0 is never
	LocalLloydInitMethod string                `default:"kmeans++" enum:"random,kmeans++" aka:"local_init_method"`
	LocalLloydMaxIter    int                   `default:"300" range:"[1,)" aka:"max_iterations"`
	LocalLloydNumTrials  hyperparams.Auto[int] `range:"[1,1000000]" aka:"num_trials"`     // auto is 10
	LocalLloydTol        float64               `default:"0.0001" range:"[0,1]" aka:"tol"` // relative change of the loss that ends Lloyd's algorithm
	EvalMetrics          []string              `default:"[\"msd\"]" enum:"msd,ssd"`
	ForceDense           bool                  `default:"true"` // false leaves sparse rows sparse; the centers are dense anyway
	NumSlices            int                   `hyperparameter:"_num_slices" default:"1" range:"[1,)"`

	Seed           hyperparams.Auto[int64] `hyperparameter:"_seed" range:"[0,9007199254740991]"`                // of all random choices; auto is another one each time
	DataMSD        hyperparams.Auto[bool]  `hyperparameter:"_data_msd"`                                         // log the loss of the data, by a pass of its own; auto does where the data are files here
	FullLloyd      bool                    `hyperparameter:"_full_lloyd" default:"false"`                       // improve the centers over the data in memory
	BreathingDepth int                     `hyperparameter:"_breathing_depth" default:"5" range:"[0,1000]"`     // of _full_lloyd: centers added and removed at a time; 0 is Lloyd's algorithm alone
	MaxMemory      int                     `hyperparameter:"_max_memory_mb" default:"4096" range:"[1,1048576]"` // of each host for the data of _full_lloyd, in MiB; where they do not fit it is left out
	SaveState      bool                    `hyperparameter:"_save_state" default:"false"`                       // save StateFile beside the model
}

// maxNumbers bounds the K·d numbers of the centers, each of which takes 8 bytes several times.
const maxNumbers = 1 << 28

// factor returns extra_center_factor.
func (p *Params) factor() int { return p.ExtraCenterFactor.Or(10) }

// centers returns K, which may be more than any batch has.
func (p *Params) centers() int64 { return int64(p.K) * int64(p.factor()) }

// withDefaults returns the parameters with the defaults where a caller of Fit has left the zero value.
func (p Params) withDefaults() Params {
	p.MiniBatchSize = cmp.Or(p.MiniBatchSize, 5000)
	p.Epochs = cmp.Or(p.Epochs, 1)
	p.InitMethod = cmp.Or(p.InitMethod, "random")
	p.LocalLloydInitMethod = cmp.Or(p.LocalLloydInitMethod, "kmeans++")
	p.LocalLloydMaxIter = cmp.Or(p.LocalLloydMaxIter, 300)
	p.LocalLloydTol = cmp.Or(p.LocalLloydTol, 1e-4)
	p.MaxMemory = cmp.Or(p.MaxMemory, 4096)
	if p.FeatureDim == 0 && p.MaxColumns == 0 {
		p.MaxColumns = math.MaxInt32
	}
	return p
}

// Validate checks what concerns several hyperparameters.
func (p *Params) Validate() error {
	if n := p.centers(); float64(n)*float64(p.FeatureDim) > maxNumbers {
		return &hyperparams.Problem{Name: "k", Err: fmt.Errorf("%d: %d centers of %d features (k × extra_center_factor × feature_dim) are more than %d numbers", p.K, n, p.FeatureDim, maxNumbers)}
	}
	return nil
}
