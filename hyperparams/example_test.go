package hyperparams_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/algospec/algospec/hyperparams"
)

// Batching is shared by several algorithms, which embed it.
type Batching struct {
	FeatureDim    int `hyperparameter:",required" range:"[1,)"`
	MiniBatchSize int `hyperparameter:",required" range:"[1,)"`
}

type Params struct {
	Batching    `default:"mini_batch_size=5000"`
	K           int                   `hyperparameter:"k,required" range:"[1,)" aka:"num_clusters"`
	InitMethod  string                `default:"random" enum:"random,kmeans++"`
	Oversample  hyperparams.Auto[int] `hyperparameter:"extra_center_factor" range:"[1,)"`
	Tol         float64               `hyperparameter:"local_lloyd_tol" default:"0.0001" range:"[0,1]"`
	EvalMetrics []string              `default:"msd" enum:"msd,ssd"`
}

// Validate checks what takes two hyperparameters to see.
func (p Params) Validate() error {
	if p.K > p.MiniBatchSize {
		return fmt.Errorf("k is %d, more than the %d rows of a batch", p.K, p.MiniBatchSize)
	}
	return nil
}

func ExampleParse() {
	var m hyperparams.Map
	file := `{"k": "10", "feature_dim": "784", "eval_metrics": "[\"msd\", \"ssd\"]"}`
	if err := json.Unmarshal([]byte(file), &m); err != nil {
		fmt.Println(err)
	}
	p, err := hyperparams.Parse[Params](m)
	fmt.Println(p.K, p.FeatureDim, p.MiniBatchSize, p.InitMethod, p.EvalMetrics, err)
	// Output: 10 784 5000 random [msd ssd] <nil>
}

// Every problem is reported together, as a job costs minutes to start.
func ExampleParse_problems() {
	_, err := hyperparams.Parse[Params](hyperparams.Map{
		"mini_batch_size":     "ten",
		"num_cluster":         "10",
		"init_method":         "kmeans",
		"extra_center_factor": "0",
		"local_lloyd_tol":     "2",
		"_tuning_objective":   "test:msd",
	})
	fmt.Println(err)
	// Output:
	// No value(s) were specified for 'feature_dim', 'k' which are required hyperparameter(s)
	// hyperparameter mini_batch_size: "ten": not an integer
	// hyperparameter init_method: "kmeans": must be one of random, kmeans++
	// hyperparameter extra_center_factor: 0: must be in [1,) or auto
	// hyperparameter local_lloyd_tol: 2: must be in [0,1]
	// hyperparameter num_cluster: unknown (did you mean k?): Additional properties are not allowed ('num_cluster' was unexpected)
}

func ExampleParse_validate() {
	_, err := hyperparams.Parse[Params](hyperparams.Map{"k": "64", "feature_dim": "784", "mini_batch_size": "32"})
	fmt.Println(err)
	// Output: hyperparameters: k is 64, more than the 32 rows of a batch
}

// An algorithm that takes any name declares a Map for those it does not know.
func ExampleParse_rest() {
	p, _ := hyperparams.Parse[struct {
		Epochs int             `default:"1"`
		Rest   hyperparams.Map `hyperparameter:"*"`
	}](hyperparams.Map{"epochs": "3", "colour": "green"})
	fmt.Println(p.Epochs, p.Rest)
	// Output: 3 map[colour:green]
}

func ExampleDefaults() {
	log, _ := json.Marshal(hyperparams.Defaults[Params]())
	fmt.Println(string(log))
	// Output: {"eval_metrics":"msd","extra_center_factor":"auto","init_method":"random","local_lloyd_tol":"0.0001","mini_batch_size":"5000"}
}

func ExampleAuto() {
	type params struct {
		LearningRate hyperparams.Auto[float64] `range:"(0,)"`
	}
	p, _ := hyperparams.Parse[params](hyperparams.Map{})
	fmt.Println(p.LearningRate, p.LearningRate.IsAuto(), p.LearningRate.Or(0.005))
	p, _ = hyperparams.Parse[params](hyperparams.Map{"learning_rate": "0.1"})
	fmt.Println(p.LearningRate, p.LearningRate.IsAuto(), p.LearningRate.Or(0.005))
	// Output:
	// auto true 0.005
	// 0.1 false 0.1
}

func ExampleWordOr() {
	type params struct {
		PositiveExampleWeightMult hyperparams.WordOr[float64] `default:"1.0" enum:"balanced,auto" range:"(0,)"`
	}
	for _, text := range []string{"balanced", "2.5", "-1"} {
		p, err := hyperparams.Parse[params](hyperparams.Map{"positive_example_weight_mult": text})
		switch weight := p.PositiveExampleWeightMult; {
		case err != nil:
			fmt.Println(err)
		case weight.Word != "":
			fmt.Println("word:", weight.Word)
		default:
			fmt.Println("value:", weight.Value)
		}
	}
	// Output:
	// word: balanced
	// value: 2.5
	// hyperparameter positive_example_weight_mult: -1: must be in (0,) or balanced or auto
}

func ExampleError() {
	_, err := hyperparams.Parse[Params](hyperparams.Map{"k": "3", "feature_dim": "2", "epoch": "1"})
	if list, ok := errors.AsType[*hyperparams.Error](err); ok {
		for _, p := range list.Problems {
			fmt.Println(p.Name, errors.Is(p, hyperparams.ErrUnknown))
		}
	}
	// Output: epoch true
}
