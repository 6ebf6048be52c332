package linearlearner

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/algospec/algospec/hyperparams"
)

// The values of predictor_type.
const (
	binaryClassifier     = "binary_classifier"
	multiclassClassifier = "multiclass_classifier"
	regressor            = "regressor"
)

// Params are the hyperparameters (builtin-algorithms, 4.1). Those whose names begin with _ are for the platform, and without
// effect, but for _tuning_objective_metric and those that the original has not: _average_weights, _seed, _exact,
// _sample_weights and _feature_names.
type Params struct {
	PredictorType string                `hyperparameter:",required" enum:"binary_classifier,multiclass_classifier,regressor"`
	NumClasses    int                   `default:"1" enum:"1" range:"[3,1e6]"` // of multiclass_classifier, which needs it
	FeatureDim    hyperparams.Auto[int] `range:"[1,2147483647]"`
	MiniBatchSize int                   `default:"1000" range:"[1,)"` // of each host
	Epochs        int                   `default:"15" range:"[1,)"`
	NumModels     hyperparams.Auto[int] `range:"[1,)"`

	Loss              hyperparams.Auto[string]  `enum:"logistic,hinge_loss,softmax_loss,squared_loss,absolute_loss,eps_insensitive_squared_loss,eps_insensitive_absolute_loss,quantile_loss,huber_loss"`
	Margin            hyperparams.Auto[float64] `default:"1.0" range:"[0,)"`  // of hinge_loss; auto is 1
	Quantile          float64                   `default:"0.5" range:"(0,1)"` // of quantile_loss: the share of labels below the score
	LossInsensitivity float64                   `default:"0.01" range:"(0,)"` // ε
	HuberDelta        hyperparams.Auto[float64] `default:"1.0" range:"[0,)"`  // auto is 1

	Optimizer             hyperparams.Auto[string]  `enum:"sgd,adam,rmsprop"` // auto is adam
	LearningRate          hyperparams.Auto[float64] `range:"(0,)"`
	WD                    hyperparams.Auto[float64] `range:"[0,)" aka:"weight_decay,l2"`
	L1                    hyperparams.Auto[float64] `range:"[0,)"`
	Momentum              hyperparams.Auto[float64] `range:"[0,1)"`                         // of sgd; auto is 0
	Beta1                 hyperparams.Auto[float64] `hyperparameter:"beta_1" range:"[0,1)"` // of adam; auto is 0.9
	Beta2                 hyperparams.Auto[float64] `hyperparameter:"beta_2" range:"[0,1)"` // auto is 0.999
	UseBias               hyperparams.Auto[bool]    `default:"true"`                        // auto is true
	BiasLRMult            hyperparams.Auto[float64] `range:"(0,)"`                          // auto is 10
	BiasWDMult            hyperparams.Auto[float64] `range:"[0,)"`                          // auto is 0
	UseLRScheduler        hyperparams.Auto[bool]    `default:"true"`                        // auto is true
	LRSchedulerStep       hyperparams.Auto[int]     `range:"[1,)"`
	LRSchedulerFactor     hyperparams.Auto[float64] `range:"(0,1)"`
	LRSchedulerMinimumLR  hyperparams.Auto[float64] `range:"(0,)"`
	InitMethod            string                    `default:"uniform" enum:"uniform,normal"`
	InitScale             float64                   `default:"0.07" range:"(0,)"`
	InitSigma             float64                   `default:"0.01" range:"(0,)"`
	InitBias              float64                   `default:"0.0"`
	NormalizeData         hyperparams.Auto[bool]    `default:"true"` // auto is true
	NormalizeLabel        hyperparams.Auto[bool]    // auto is true; of regressor only
	UnbiasData            hyperparams.Auto[bool]    // auto is use_bias
	UnbiasLabel           hyperparams.Auto[bool]    // auto is use_bias; of regressor only
	NumPointForScaler     int                       `default:"10000" range:"[1,)"`
	EarlyStoppingPatience int                       `default:"3" range:"[1,)"`
	EarlyStoppingTol      float64                   `hyperparameter:"early_stopping_tolerance" default:"0.001" range:"(0,)"`

	PositiveExampleWeightMult hyperparams.WordOr[float64] `default:"1.0" enum:"balanced,auto" range:"(0,)"`
	BalanceMulticlassWeights  bool                        `default:"false"`
	SelectionCriteria         string                      `hyperparameter:"binary_classifier_model_selection_criteria" default:"accuracy" enum:"accuracy,f_beta,precision_at_target_recall,recall_at_target_precision,loss_function,f1,cross_entropy_loss"`
	TargetRecall              float64                     `default:"0.8" range:"(0,1)"`
	TargetPrecision           float64                     `default:"0.8" range:"(0,1)"`
	FBeta                     float64                     `default:"1.0" range:"(0,)"`
	AccuracyTopK              int                         `default:"3" range:"[1,)"`
	NumCalibrationSamples     int                         `default:"10000000" range:"[1,)"` // of all hosts; 4 bytes each are kept

	KVStore               string                 `hyperparameter:"_kvstore" default:"auto"`
	NumGPUs               string                 `hyperparameter:"_num_gpus" default:"auto"`
	NumKVServers          string                 `hyperparameter:"_num_kv_servers" default:"auto"`
	LogLevel              string                 `hyperparameter:"_log_level" default:"info"`
	TuningObjectiveMetric string                 `hyperparameter:"_tuning_objective_metric" default:""` // of a tuning job, which wants one model
	EnableProfiler        hyperparams.Auto[bool] `hyperparameter:"_enable_profiler" default:"false"`
	Average               hyperparams.Auto[bool] `hyperparameter:"_average_weights" default:"true"` // models are averages over their last updates; false leaves the last weights, as the original does
	Seed                  int64                  `hyperparameter:"_seed" default:"1"`               // of the initial weights
	Exact                 bool                   `hyperparameter:"_exact" default:"false"`          // one model, the exact solution, of squared_loss, logistic or softmax_loss and up to 4,096 weights
	SampleWeights         bool                   `hyperparameter:"_sample_weights" default:"false"` // records have two label values, the label and the weight of the row
	FeatureNames          FeatureNames           `hyperparameter:"_feature_names"`                  // a JSON list of the features' names, for coefficients.json
}

// withDefaults returns the parameters with the defaults where a caller of Fit has left the zero value.
func (p Params) withDefaults() Params {
	p.NumClasses = cmp.Or(p.NumClasses, 1)
	p.MiniBatchSize = cmp.Or(p.MiniBatchSize, 1000)
	p.Epochs = cmp.Or(p.Epochs, 15)
	p.Quantile = cmp.Or(p.Quantile, 0.5)
	p.LossInsensitivity = cmp.Or(p.LossInsensitivity, 0.01)
	p.InitScale = cmp.Or(p.InitScale, 0.07)
	p.InitSigma = cmp.Or(p.InitSigma, 0.01)
	p.NumPointForScaler = cmp.Or(p.NumPointForScaler, 10000)
	p.EarlyStoppingPatience = cmp.Or(p.EarlyStoppingPatience, 3)
	p.EarlyStoppingTol = cmp.Or(p.EarlyStoppingTol, 0.001)
	if p.PositiveExampleWeightMult == (hyperparams.WordOr[float64]{}) {
		p.PositiveExampleWeightMult.Value = 1
	}
	p.TargetRecall = cmp.Or(p.TargetRecall, 0.8)
	p.TargetPrecision = cmp.Or(p.TargetPrecision, 0.8)
	p.FBeta = cmp.Or(p.FBeta, 1)
	p.AccuracyTopK = cmp.Or(p.AccuracyTopK, 3)
	p.Seed = cmp.Or(p.Seed, 1)
	p.NumCalibrationSamples = cmp.Or(p.NumCalibrationSamples, 10_000_000)
	return p
}

// losses are the losses of each predictor type, that of auto first.
var losses = map[string][]string{
	binaryClassifier:     {"logistic", "hinge_loss"},
	multiclassClassifier: {"softmax_loss"},
	regressor: {
		"squared_loss", "absolute_loss", "eps_insensitive_squared_loss", "eps_insensitive_absolute_loss", "quantile_loss", "huber_loss",
	},
}

// Validate checks what concerns several hyperparameters.
func (p *Params) Validate() error {
	legal := losses[p.PredictorType]
	loss := p.loss()
	found := false
	for _, name := range legal {
		found = found || name == loss
	}
	switch {
	case !found:
		return problem("loss", "%s: not a loss of predictor_type %s, which has %v", loss, p.PredictorType, legal)
	case p.PredictorType == multiclassClassifier && p.NumClasses < 3:
		return &hyperparams.Problem{Name: "num_classes", Err: hyperparams.ErrMissing}
	case p.PredictorType != multiclassClassifier && p.NumClasses > 1:
		return problem("num_classes", "%d: only predictor_type multiclass_classifier has classes to count; leave it out", p.NumClasses)
	}
	return p.checkExact()
}

func problem(name, format string, args ...any) error {
	return &hyperparams.Problem{Name: name, Err: fmt.Errorf(format, args...)}
}

// loss returns the loss, which auto leaves to the predictor type.
func (p *Params) loss() string { return p.Loss.Or(losses[p.PredictorType][0]) }

// criterion returns the selection criterion, with the names of today.
func (p *Params) criterion() string {
	switch p.SelectionCriteria {
	case "f1":
		return "f_beta"
	case "cross_entropy_loss":
		return "loss_function"
	}
	return cmp.Or(p.SelectionCriteria, "accuracy")
}

// beta returns the β of f_beta; that of the old name f1 is 1.
func (p *Params) beta() float64 {
	if p.SelectionCriteria == "f1" {
		return 1
	}
	return p.FBeta
}

// outputs returns how many scores a row has.
func (p *Params) outputs() int {
	if p.PredictorType == multiclassClassifier {
		return p.NumClasses
	}
	return 1
}

var (
	errNoRecords = errors.New("no record in it")
	errNoWeight  = errors.New("no record in it has a weight")
)
