package linearlearner

import (
	"math"
)

// A Setting is the hyperparameters in which the models that are trained side by side differ. Its JSON is that of the line
// "Best model found for hyperparameters".
type Setting struct {
	Optimizer    string  `json:"optimizer"`
	LearningRate float64 `json:"learning_rate"`
	WD           float64 `json:"wd"`
	L1           float64 `json:"l1"`
	Step         int     `json:"lr_scheduler_step"`
	Factor       float64 `json:"lr_scheduler_factor"`
	MinimumLR    float64 `json:"lr_scheduler_minimum_lr"`

	positive float64 // weight of rows labelled 1
}

// settings returns the models to train, num_models of them. What the user has set replaces the grid's value, and the
// rest still varies (builtin-algorithms, 4.4). Balanced is the number of negatives for each positive; search says whether models of
// different weights for positives can be compared, which takes validation data.
func (p *Params) settings(balanced float64, search bool) []Setting {
	grid := gridPoint
	if p.PredictorType == multiclassClassifier {
		grid = multiclassPoint
	}
	n := p.models()
	models := make([]Setting, n)
	for i := range models {
		s := grid(i)
		s.Optimizer = p.Optimizer.Or("adam")
		s.LearningRate = p.LearningRate.Or(s.LearningRate)
		s.WD = p.WD.Or(s.WD)
		s.L1 = p.L1.Or(s.L1)
		s.Step = p.LRSchedulerStep.Or(s.Step)
		s.Factor = p.LRSchedulerFactor.Or(s.Factor)
		s.MinimumLR = p.LRSchedulerMinimumLR.Or(s.MinimumLR)
		s.positive = p.positive(i, n, balanced, search)
		models[i] = s
	}
	return models
}

// models returns num_models; a tuning job wants one model.
func (p *Params) models() int {
	switch {
	case p.TuningObjectiveMetric != "":
		return 1
	case p.PredictorType == multiclassClassifier:
		return p.NumModels.Or(28)
	}
	return p.NumModels.Or(32)
}

// positive returns the weight of model i of n for rows labelled 1. To search for it, auto has models of four weights between
// none and balanced, in the place of those that differ in the scheduler only. Where it cannot, it is balanced.
func (p *Params) positive(i, n int, balanced float64, search bool) float64 {
	switch p.PositiveExampleWeightMult.Word {
	case "balanced":
		return balanced
	case "auto":
		if n == 1 || !search {
			return balanced
		}
		return math.Pow(balanced, float64(i&3)/3)
	}
	return p.PositiveExampleWeightMult.Value
}

// gridPoint returns point i of the original's grid for one score: bits of i, from the low end, choose. Points beyond its 32 are
// of the same ranges, and drawn as those for many classes are.
func gridPoint(i int) Setting {
	if i >= 32 {
		return Setting{
			LearningRate: logUniform(i, 0, 1e-3, 0.2), WD: logUniform(i, 2, 1e-6, 1),
			Step: int(logUniform(i, 3, 10, 100)), Factor: 0.99, MinimumLR: logUniform(i, 5, 1e-5, 1e-4),
		}
	}
	return Setting{
		Step:         []int{10, 100}[i&1],
		MinimumLR:    []float64{1e-5, 1e-4}[i>>1&1],
		LearningRate: []float64{0.005, 0.1}[i>>2&1],
		WD:           []float64{1e-4, 0.01, 1, 100}[i>>3&3],
		Factor:       0.99,
	}
}

// multiclassKnown are the points that public logs tell of the original's list for many classes.
var multiclassKnown = []Setting{
	{LearningRate: 0.03578924546103785, L1: 0.3730851993396367, WD: 0.0020367449461466797, Step: 153, Factor: 0.9895518165671255, MinimumLR: 2.294182951069527e-05},
	{LearningRate: 0.06940075632562186, L1: 0.00661855972259075, WD: 0.0012646460339582688, Step: 295, Factor: 0.9898241409192494, MinimumLR: 5.0968542639990265e-05},
	{LearningRate: 0.1004722437624804, L1: 0.00031502989657088544, WD: 0.0004653088747992106, Step: 216, Factor: 0.9316602901273723, MinimumLR: 1.998391905573772e-06},
}

// multiclassPoint returns point i of ours: one of the original's where it is known, and otherwise of a Sobol sequence in its
// ranges. The known ones with little l1 come first, which is the better choice where there is one model only.
func multiclassPoint(i int) Setting {
	if i < len(multiclassKnown) {
		return multiclassKnown[len(multiclassKnown)-1-i]
	}
	s := Setting{
		LearningRate: logUniform(i, 0, 1e-3, 0.2),
		Step:         int(logUniform(i, 3, 20, 300)),
		Factor:       0.9 + 0.099*sobol(i, 4),
		MinimumLR:    logUniform(i, 5, 1e-6, 1e-4),
	}
	if i&1 == 0 {
		s.WD = logUniform(i, 2, 1e-8, 1e-5)
		return s
	}
	s.L1, s.WD = logUniform(i, 1, 1e-6, 1e-2), logUniform(i, 2, 1e-5, 1e-2)
	return s
}

func logUniform(i, dimension int, low, high float64) float64 {
	return low * math.Pow(high/low, sobol(i, dimension))
}

// sobolPolynomials has the degree, the coefficients and the first direction numbers of each dimension but the first (Joe and Kuo
// 2008, new-joe-kuo-6.21201).
var sobolPolynomials = []struct {
	degree int
	a      uint32
	m      []uint32
}{
	{1, 0, []uint32{1}},
	{2, 1, []uint32{1, 3}},
	{3, 1, []uint32{1, 3, 1}},
	{3, 2, []uint32{1, 1, 1}},
	{4, 1, []uint32{1, 1, 3, 3}},
}

// sobol returns coordinate dimension of point i of the Sobol sequence, in [0,1).
func sobol(i, dimension int) float64 {
	var directions [32]uint32
	for k := range directions {
		directions[k] = 1 << (31 - k)
	}
	if dimension > 0 {
		p := sobolPolynomials[dimension-1]
		for k, m := range p.m {
			directions[k] = m << (31 - k)
		}
		for k := p.degree; k < 32; k++ {
			v := directions[k-p.degree] ^ directions[k-p.degree]>>p.degree
			for j := 1; j < p.degree; j++ {
				v ^= (p.a >> (p.degree - 1 - j) & 1) * directions[k-j]
			}
			directions[k] = v
		}
	}
	var x uint32
	gray := uint32(i) ^ uint32(i)>>1
	for k := range 32 {
		if gray>>k&1 == 1 {
			x ^= directions[k]
		}
	}
	return float64(x) / (1 << 32)
}
