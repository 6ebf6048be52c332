package linearlearner

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A threshold is looked for among all scores, and compared with every other: by the criterion, and by how near it is to neutral.
func TestThresholdsAreTheBestOfAllCuts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		n := random.IntN(30)
		scores, labels := make([]float32, n), make([]float32, n)
		for i := range n {
			scores[i] = float32(random.IntN(9)-2) / 6 // many are equal, some below 0, as those of hinge_loss may be
			labels[i] = float32(random.IntN(2))
		}
		for _, c := range []criterion{
			{name: "accuracy"}, {name: "f_beta", beta: 1}, {name: "f_beta", beta: 0.3},
			{name: "precision_at_target_recall", target: 0.8}, {name: "recall_at_target_precision", target: 0.7},
		} {
			var r ranking
			for i := range n {
				r.add(scores[i], labels[i], 1)
			}
			cut, value := r.threshold(c)
			k := count(scores, labels, cut)
			require.Equal(t, k, r.count(cut))
			if n == 0 {
				require.Equal(t, neutral, cut)
				continue
			}
			require.Equal(t, c.value(k), value)
			above := math.Inf(1)
			for _, other := range append([]float32{float32(above)}, scores...) {
				v := c.value(count(scores, labels, float64(other)))
				require.LessOrEqual(t, v, value, "%s: cut %v", c.name, other)
				if v == value && !math.IsInf(float64(other), 0) {
					require.GreaterOrEqual(t, math.Abs(float64(other)-neutral), math.Abs(cut-neutral))
				}
			}
		}
	}
}

func count(scores, labels []float32, cut float64) (k counts) {
	for i, s := range scores {
		k.add(float64(s) >= cut, labels[i] == 1, 1)
	}
	return k
}

// Scores come out from the highest down, each once, with the weights of its rows, from however many blocks.
func TestRankingsAreInOrderAcrossBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for _, n := range []int{0, 1, blockLen, blockLen + 1, 7 * blockLen} {
		var r ranking
		want := map[float32][2]float64{}
		for range n {
			score, label, weight := float32(random.IntN(5000)-1000)/4000, random.IntN(2), []float32{1, 1, 1, 2, 0.5, 0}[random.IntN(6)]
			r.add(score, float32(label), weight)
			weights := want[score]
			weights[label] += float64(weight)
			want[score] = weights
		}
		require.Equal(t, n, r.n)
		for range 2 { // the second time they are sorted
			got, last := map[float32][2]float64{}, float32(math.Inf(1))
			for score, weights := range r.cuts() {
				require.Less(t, score, last)
				got[score], last = weights, score
			}
			require.Equal(t, want, got)
		}
	}
}

func TestTheAreaUnderTheCurveIsTheShareOfPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for range 100 {
		n := 2 + random.IntN(40)
		scores, labels := make([]float32, n), make([]float32, n)
		var r ranking
		for i := range n {
			scores[i], labels[i] = float32(random.IntN(8)), float32(random.IntN(2))
			if i < 2 {
				labels[i] = float32(i)
			}
			r.add(scores[i], labels[i], 1)
		}
		var pairs, right float64
		for i := range n {
			for j := range n {
				if labels[i] == 1 && labels[j] == 0 {
					pairs++
					if scores[i] > scores[j] {
						right++
					} else if scores[i] == scores[j] {
						right += 0.5
					}
				}
			}
		}
		require.InDelta(t, right/pairs, r.auc(), 1e-12)
	}
}

// The grid of builtin-algorithms, 4.4, and what a user sets in the place of a coordinate.
func TestTheGridIsThatOfTheOriginal(t *testing.T) {
	p := Params{PredictorType: binaryClassifier}.withDefaults()
	models := p.settings(1, false)
	require.Len(t, models, 32)
	require.Equal(t, Setting{Optimizer: "adam", LearningRate: 0.005, WD: 1e-4, Step: 10, Factor: 0.99, MinimumLR: 1e-5, positive: 1}, models[0])
	require.Equal(t, Setting{Optimizer: "adam", LearningRate: 0.005, WD: 1e-4, Step: 10, Factor: 0.99, MinimumLR: 1e-4, positive: 1}, models[2])
	require.Equal(t, Setting{Optimizer: "adam", LearningRate: 0.1, WD: 100, Step: 100, Factor: 0.99, MinimumLR: 1e-4, positive: 1}, models[31])
	p.TuningObjectiveMetric = "test:recall"
	require.Len(t, p.settings(1, false), 1)

	p = Params{PredictorType: binaryClassifier}.withDefaults()
	p.PositiveExampleWeightMult.Word = "auto"
	require.Equal(t, 8.0, p.settings(8, false)[0].positive, "no data to search by")
	for i, want := range []float64{1, 2, 4, 8} {
		require.InDelta(t, want, p.settings(8, true)[i].positive, 1e-12)
	}

	p = Params{PredictorType: multiclassClassifier, NumClasses: 3}.withDefaults()
	models = p.settings(1, false)
	require.Len(t, models, 28)
	for _, known := range multiclassKnown {
		known.Optimizer, known.positive = "adam", 1
		require.Contains(t, models, known)
	}
	for _, m := range models {
		require.Greater(t, m.Factor, 0.0)
		require.Less(t, m.Factor, 1.0)
		require.Positive(t, m.Step)
	}
}

// The first points of a Sobol sequence in six dimensions, by scipy.stats.qmc.Sobol without scrambling.
func TestSobol(t *testing.T) {
	for i, want := range [][]float64{
		{0, 0, 0, 0, 0, 0}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {0.75, 0.25, 0.25, 0.25, 0.75, 0.75}, {0.25, 0.75, 0.75, 0.75, 0.25, 0.25},
		{0.375, 0.375, 0.625, 0.875, 0.375, 0.125}, {0.875, 0.875, 0.125, 0.375, 0.875, 0.625},
	} {
		for j, v := range want {
			require.Equal(t, v, sobol(i, j), "point %d, dimension %d", i, j)
		}
	}
}
