package hyperparams

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

// The structs of this file carry the tables of the built-in algorithms.

type batching struct {
	FeatureDim    int `hyperparameter:",required" range:"[1,)"`
	MiniBatchSize int `hyperparameter:",required" range:"[1,)"`
}

type pcaParams struct {
	batching
	NumComponents   int    `hyperparameter:",required" range:"[1,)"`
	AlgorithmMode   string `default:"regular" enum:"regular,randomized,stable"`
	ExtraComponents int    `default:"-1" enum:"-1" range:"[0,)"`
	SubtractMean    bool   `default:"true"`
	ForceDense      bool   `default:"true"`
	Epochs          int    `default:"1"`
}

type kmeansParams struct {
	batching             `default:"mini_batch_size=5000"`
	K                    int       `hyperparameter:",required" range:"[1,)" aka:"num_clusters,clusters"`
	Epochs               int       `default:"1" range:"[1,)"`
	InitMethod           string    `default:"random" enum:"random,kmeans++"`
	ExtraCenterFactor    Auto[int] `range:"[1,)" aka:"center_factor"`
	HalfLifeTimeSize     int       `default:"0" range:"[0,)"`
	LocalLloydInitMethod string    `default:"kmeans++" enum:"random,kmeans++" aka:"local_init_method"`
	LocalLloydMaxIter    int       `default:"300" range:"[1,)" aka:"max_iterations"`
	LocalLloydNumTrials  Auto[int] `range:"[1,)"`
	LocalLloydTol        float64   `default:"0.0001" range:"[0,1]"`
	EvalMetrics          []string  `default:"[\"msd\"]" enum:"msd,ssd"`
	ForceDense           bool      `default:"true"`
	NumSlices            int       `hyperparameter:"_num_slices" default:"1"`
}

type linearParams struct {
	PredictorType             string        `hyperparameter:",required" enum:"binary_classifier,multiclass_classifier,regressor"`
	NumClasses                int           `default:"1" enum:"1" range:"[3,1e6]"`
	FeatureDim                Auto[int]     `range:"[1,)"`
	MiniBatchSize             int           `default:"1000" range:"[1,)"`
	Epochs                    int           `default:"15" range:"[1,)"`
	UseBias                   bool          `default:"true"`
	NumModels                 Auto[int]     `range:"[1,)"`
	Optimizer                 Auto[string]  `enum:"sgd,adam,rmsprop"`
	LearningRate              Auto[float64] `range:"(0,)"`
	WD                        Auto[float64] `range:"[0,)"`
	L1                        Auto[float64] `range:"[0,)"`
	Momentum                  Auto[float64] `range:"[0,1)"`
	Beta1                     Auto[float64] `hyperparameter:"beta_1" range:"[0,1)"`
	LRSchedulerFactor         Auto[float64] `range:"(0,1)"`
	InitBias                  float64       `default:"0.0"`
	NormalizeData             Auto[bool]    `default:"true"`
	UnbiasLabel               Auto[bool]
	PositiveExampleWeightMult WordOr[float64] `default:"1.0" enum:"balanced,auto" range:"(0,)"`
	TargetRecall              float64         `default:"0.8" range:"(0,1)"`
	NumCalibrationSamples     int             `default:"10000000" range:"[1,)"`
	HuberDelta                float64         `default:"1.0" range:"[0,)"`
}

func TestTheDefaultsOfTheBuiltInsAreThoseOfTheirLogs(t *testing.T) {
	require.Equal(t, Map{
		"algorithm_mode": "regular", "extra_components": "-1", "subtract_mean": "true", "force_dense": "true", "epochs": "1",
	}, Defaults[pcaParams]())
	require.Equal(t, Map{
		"mini_batch_size": "5000", "epochs": "1", "init_method": "random", "extra_center_factor": "auto",
		"half_life_time_size": "0", "local_lloyd_init_method": "kmeans++", "local_lloyd_max_iter": "300",
		"local_lloyd_num_trials": "auto", "local_lloyd_tol": "0.0001", "eval_metrics": `["msd"]`,
		"force_dense": "true", "_num_slices": "1",
	}, Defaults[kmeansParams]())

	linear := Defaults[linearParams]()
	require.Equal(t, "1.0", linear["positive_example_weight_mult"])
	require.Equal(t, "true", linear["normalize_data"])
	for _, name := range []string{"feature_dim", "num_models", "optimizer", "learning_rate", "wd", "l1", "beta_1", "unbias_label", "lr_scheduler_factor"} {
		require.Equal(t, "auto", linear[name], name)
	}
}

func TestTheBuiltInsAcceptWhatTheGuideAllows(t *testing.T) {
	pca := Map{"feature_dim": "50", "mini_batch_size": "20", "num_components": "5"}
	kmeans := Map{"feature_dim": "50", "k": "10"}
	linear := Map{"predictor_type": "regressor"}
	tests := []struct {
		name  string
		parse func(Map) error
		base  Map
		field string
		text  string
		want  string // of the error
	}{
		{"-1 extra components", parses[pcaParams], pca, "extra_components", "-1", ""},
		{"0 extra components", parses[pcaParams], pca, "extra_components", "0", ""},
		{"-2 extra components", parses[pcaParams], pca, "extra_components", "-2", "-2: must be -1 or in [0,)"},
		{"the old alias of a mode", parses[pcaParams], pca, "algorithm_mode", "stable", ""},
		{"an unheard-of mode", parses[pcaParams], pca, "algorithm_mode", "fast", `"fast": must be one of regular, randomized, stable`},
		{"Python's False", parses[pcaParams], pca, "subtract_mean", "False", ""},
		{"no features", parses[pcaParams], pca, "feature_dim", "0", "0: must be in [1,)"},
		{"both metrics", parses[kmeansParams], kmeans, "eval_metrics", `["msd", "ssd"]`, ""},
		{"one metric too many", parses[kmeansParams], kmeans, "eval_metrics", `["msd", "mse"]`, `"mse": must be one of msd, ssd`},
		{"a tolerance of exactly 1", parses[kmeansParams], kmeans, "local_lloyd_tol", "1", ""},
		{"auto trials", parses[kmeansParams], kmeans, "local_lloyd_num_trials", "auto", ""},
		{"0 trials", parses[kmeansParams], kmeans, "local_lloyd_num_trials", "0", "0: must be in [1,) or auto"},
		{"a million classes", parses[linearParams], linear, "num_classes", "1000000", ""},
		{"2 classes", parses[linearParams], linear, "num_classes", "2", "2: must be 1 or in [3,1e6]"},
		{"a momentum at its open end", parses[linearParams], linear, "momentum", "1", "1: must be in [0,1) or auto"},
		{"a momentum at its closed end", parses[linearParams], linear, "momentum", "0", ""},
		{"a factor at its open end", parses[linearParams], linear, "lr_scheduler_factor", "0.0", "0.0: must be in (0,1) or auto"},
		{"auto normalization", parses[linearParams], linear, "normalize_data", "auto", ""},
		{"a balanced weight", parses[linearParams], linear, "positive_example_weight_mult", "balanced", ""},
		{"no weight", parses[linearParams], linear, "positive_example_weight_mult", "0", "0: must be in (0,) or balanced or auto"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := maps.Clone(test.base)
			m[test.field] = test.text
			err := test.parse(m)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "hyperparameter "+test.field+": "+test.want)
		})
	}
}

func parses[T any](m Map) error {
	_, err := Parse[T](m)
	return err
}

func TestTheAttributeNamesOfThePythonSDKLeadToTheHyperparameters(t *testing.T) {
	d := declarationFor[kmeansParams]()
	for attribute, want := range map[string]string{
		"num_cluster":       "k",
		"K":                 "k",
		"max_iterations":    "local_lloyd_max_iter",
		"tol":               "local_lloyd_tol",
		"num_trials":        "local_lloyd_num_trials",
		"local_init_method": "local_lloyd_init_method",
		"center_factor":     "extra_center_factor",
		"batch_size":        "mini_batch_size",
		"mini-batch-size":   "mini_batch_size",
		"epoch":             "epochs",
		"colour":            "",
		"":                  "",
	} {
		require.Equal(t, want, d.nearest(attribute), attribute)
	}
}
