package kmeans

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

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

// shrink is Cluster, which tells of each trial, in their order.
func (s *State) shrink(ctx context.Context, k int, p Params, seed int64, tell func(trial int, msd float64)) (*Model, float64, error) {
	t := newTrials(s, k, p, seed)
	weights := 0.0
	for j := range s.K {
		weights += weightOf(t.weight, j)
	}
	best := attempt{loss: math.Inf(1)}
	all := p.LocalLloydNumTrials.Or(10)
	for first := 0; first < all; first += t.abreast {
		for i, a := range t.run(ctx, first, min(t.abreast, all-first)) {
			if a.err != nil {
				return nil, 0, a.err
			}
			if tell != nil {
				tell(first+i, a.loss/weights)
			}
			if a.loss < best.loss || best.centers.Rows == 0 {
				best = a
			}
		}
	}
	return &Model{Centers: best.centers}, best.loss / weights, nil
}

// trials make k centers of some rows, each by random choices of its own.
type trials struct {
	*points
	k       int
	p       Params
	seed    int64
	all     blas32.General // distances of the rows, where they are worth their room
	abreast int            // how many go on at the same time
}

// An attempt is what a trial comes to.
type attempt struct {
	centers blas32.General
	loss    float64
	err     error
}

// pairsRoom is how many distances of rows are held: 128 MiB.
const pairsRoom = 1 << 25

func newTrials(s *State, k int, p Params, seed int64) *trials {
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
	t := &trials{points: &points{d: s.D, parts: []compute.Matrix{x}, weight: weight}, k: k, p: p, seed: seed}
	n := p.LocalLloydNumTrials.Or(10)
	// All of them together hold about as many centers as there are to begin with.
	t.abreast = max(1, min(n, runtime.GOMAXPROCS(0), s.K/k))
	if p.LocalLloydInitMethod != "random" && s.K <= pairsRoom/s.K && n*k*greedy(k) >= s.K/4 {
		t.all = between(x)
	}
	return t
}

// run makes some attempts at the same time.
func (t *trials) run(ctx context.Context, first, n int) []attempt {
	attempts := make([]attempt, n)
	var group sync.WaitGroup
	for i := range attempts[1:] {
		group.Go(func() { attempts[1+i] = t.try(ctx, first+1+i) })
	}
	attempts[0] = t.try(ctx, first)
	group.Wait()
	return attempts
}

func (t *trials) try(ctx context.Context, trial int) (a attempt) {
	x, r := t.parts[0], stream(t.seed, streamShrink+uint64(trial))
	var chosen []int
	if t.p.LocalLloydInitMethod == "random" {
		chosen = r.Perm(x.Rows())[:t.k]
	} else if chosen, a.err = newSeeding(x, t.weight, greedy(t.k), t.all).choose(ctx, r, t.k); a.err != nil {
		return a
	}
	l := newLloyd(t.points, rowsOf(x, chosen))
	l.repairs = true
	a.loss, a.err = l.run(ctx, t.p.LocalLloydMaxIter, t.p.LocalLloydTol)
	a.centers = l.centers
	return a
}

// greedy returns how many candidates Arthur and Vassilvitskii's own program tries, as scikit-learn does, too.
func greedy(k int) int { return 2 + int(math.Log(float64(k))) }
