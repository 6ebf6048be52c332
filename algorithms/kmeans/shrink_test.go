package kmeans

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/hyperparams"
)

// plain is k-means++ as its definition has it, in float64 and with nothing kept from choice to choice.
func plain(r *rand.Rand, x blas32.General, weight []float32, k, candidates int) (chosen []int) {
	squared := func(a, b int) float64 {
		sum := 0.0
		for l := range x.Cols {
			e := float64(x.Data[a*x.Stride+l]) - float64(x.Data[b*x.Stride+l])
			sum += e * e
		}
		return sum
	}
	mass := func(i int, chosen []int) float64 {
		least := 1.0
		for n, j := range chosen {
			if d := squared(i, j); n == 0 || d < least {
				least = d
			}
		}
		return least * float64(weight[i])
	}
	for len(chosen) < k {
		total := 0.0
		for i := range x.Rows {
			total += mass(i, chosen)
		}
		best, least := 0, -1.0
		first := -1
		for range candidates {
			u, candidate := r.Float64()*total, 0
			for i := range x.Rows {
				if m := mass(i, chosen); m > 0 {
					candidate = i
					if u -= m; u < 0 {
						break
					}
				}
			}
			if first < 0 {
				first = candidate
			}
			if len(chosen) == 0 {
				candidate = first
			}
			left := 0.0
			for i := range x.Rows {
				left += mass(i, append(slices.Clone(chosen), candidate))
			}
			if least < 0 || left < least {
				best, least = candidate, left
			}
		}
		chosen = append(chosen, best)
	}
	return chosen
}

// Whole numbers have exact distances, so that all ways of getting them choose the same rows.
func TestPlusPlusIsThatOfItsDefinition(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		x := blas32.General{Rows: 150, Cols: 3, Stride: 3}
		weight := make([]float32, x.Rows)
		for i := range weight {
			weight[i] = float32(r.IntN(5))
			for range x.Cols {
				x.Data = append(x.Data, float32(r.IntN(1000)-300))
			}
		}
		m := compute.Matrix{X: x}
		for _, candidates := range []int{1, 4} {
			want := plain(rand.New(rand.NewPCG(seed, 3)), x, weight, 20, candidates)
			for name, all := range map[string]blas32.General{"distances as they are needed": {}, "all distances before": between(m)} {
				got, err := newSeeding(m, weight, candidates, all).choose(t.Context(), rand.New(rand.NewPCG(seed, 3)), 20)
				require.NoError(t, err)
				require.Equal(t, want, got, "seed %d, %d candidates, %s", seed, candidates, name)
			}
		}
	}
}

// The attempts go on at the same time, and their results and their order are those of one after the other.
func TestTheReductionIsTheSameOnAnyNumberOfThreads(t *testing.T) {
	s := summary(300, 8, 7, 4)
	for _, init := range []string{"kmeans++", "random"} {
		p := Params{LocalLloydInitMethod: init, LocalLloydNumTrials: hyperparams.Fixed(7)}.withDefaults()
		var first *Model
		var firstLosses []float64
		for _, threads := range []int{1, 2, 5, 16} {
			before := runtime.GOMAXPROCS(threads)
			var losses []float64
			m, least, err := s.shrink(t.Context(), 30, p, 9, func(trial int, msd float64) {
				require.Len(t, losses, trial)
				losses = append(losses, msd)
			})
			runtime.GOMAXPROCS(before)
			require.NoError(t, err)
			require.Len(t, losses, 7)
			require.Equal(t, slices.Min(losses), least)
			if first == nil {
				first, firstLosses = m, losses
			}
			require.Equal(t, firstLosses, losses, "%s on %d threads", init, threads)
			require.Equal(t, first.Centers.Data, m.Centers.Data, "%s on %d threads", init, threads)
		}
	}
}

// Distances are held where that is worth their room, which is bounded.
func TestTheReductionHoldsDistancesWhereThatIsWorthIt(t *testing.T) {
	held := func(from, k int, init string) bool {
		s := &State{K: from, D: 1, Centers: make([]float64, from), Counts: make([]float64, from)}
		return newTrials(s, k, Params{LocalLloydInitMethod: init}.withDefaults(), 1).all.Rows > 0
	}
	require.True(t, held(1000, 100, "kmeans++"))
	require.False(t, held(1000, 100, "random"), "nothing needs them")
	require.False(t, held(1000, 2, "kmeans++"), "40 rows are tried out")
	require.False(t, held(6000, 600, "kmeans++"), "144 MB")
}

func TestAReductionThatIsCancelledEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	_, _, err := summary(300, 8, 7, 4).shrink(ctx, 30, Params{}.withDefaults(), 9, nil)
	require.ErrorIs(t, err, errEnough)
	_, err = plusPlus(ctx, rand.New(rand.NewPCG(1, 1)), randomRows(10, 2, 1), nil, 3, 1)
	require.ErrorIs(t, err, errEnough)
}
