package kmeans

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// Cluster makes k clusters, at most K, of the state's centers, weighted by their counts, and returns their model and their loss:
// Σ count·distance² / Σ count over the K centers. LocalLloydInitMethod, LocalLloydMaxIter, LocalLloydNumTrials, LocalLloydTol and Seed
// of p apply, with their defaults for zero values; of the trials the best one is returned.
func (s *State) Cluster(ctx context.Context, k int, p Params) (*Model, float64, error) {
	if k < 1 || k > s.K {
		return nil, 0, formatError(fmt.Sprintf("no %d clusters can be made of %d centers", k, s.K))
	}
	p = p.withDefaults()
	return s.shrink(ctx, k, p, p.Seed.Or(randomSeed()), nil)
}

// shrink is Cluster, which tells of each trial.
func (s *State) shrink(ctx context.Context, k int, p Params, seed int64, tell func(trial int, msd float64)) (*Model, float64, error) {
	total := 0.0
	weight := make([]float32, s.K)
	for _, n := range s.Counts {
		total += n
	}
	for j, n := range s.Counts { // on average 1 each, which float32 has room for
		weight[j] = float32(n / total * float64(s.K))
	}
	if !(total > 0) {
		weight = nil
	}
	x := compute.Matrix{X: s.narrow()}
	rows := &points{d: s.D, parts: []compute.Matrix{x}, weight: weight}
	weights := 0.0
	for j := range s.K {
		weights += weightOf(weight, j)
	}
	best, least := blas32.General{}, math.Inf(1)
	for trial := range p.LocalLloydNumTrials.Or(10) {
		r := stream(seed, streamShrink+uint64(trial))
		var chosen []int
		if p.LocalLloydInitMethod == "random" {
			chosen = r.Perm(s.K)[:k]
		} else {
			chosen = plusPlus(r, x, weight, k, greedy(k))
		}
		l := newLloyd(rows, rowsOf(x, chosen))
		l.repairs = true
		loss, err := l.run(ctx, p.LocalLloydMaxIter, p.LocalLloydTol)
		if err != nil {
			return nil, 0, err
		}
		if tell != nil {
			tell(trial, loss/weights)
		}
		if loss < least || best.Rows == 0 {
			best, least = l.centers, loss
		}
	}
	return &Model{Centers: best}, least / weights, nil
}

// greedy returns how many candidates Arthur and Vassilvitskii's own program tries, as scikit-learn does, too.
func greedy(k int) int { return 2 + int(math.Log(float64(k))) }
