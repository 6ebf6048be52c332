package kmeans

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// summary returns a state of K centers in groups, as a pass over data in clusters leaves it: unequal counts, and centers of a group closer to
// each other than to those of others.
func summary(k, d, groups int, seed uint64) *State {
	r := rand.New(rand.NewPCG(seed, 0))
	places := make([]float64, groups*d)
	for i := range places {
		places[i] = 2 * r.NormFloat64()
	}
	s := &State{K: k, D: d}
	for j := range k {
		place := places[j%groups*d:][:d]
		for _, x := range place {
			s.Centers = append(s.Centers, x+r.NormFloat64())
		}
		s.Counts = append(s.Counts, 1+r.ExpFloat64()*150)
	}
	return s
}

// BenchmarkShrink is the reduction of the K centers to k, with the original's 10 attempts.
func BenchmarkShrink(b *testing.B) {
	for _, c := range []struct{ from, k, d int }{{1000, 100, 784}, {1000, 100, 50}, {5000, 500, 50}} {
		for _, groups := range []int{1, c.k} {
			b.Run(fmt.Sprintf("%d→%d,d=%d,groups=%d", c.from, c.k, c.d, groups), func(b *testing.B) {
				s := summary(c.from, c.d, groups, 1)
				for b.Loop() {
					_, _, err := s.shrink(b.Context(), c.k, Params{}.withDefaults(), 1, nil)
					require.NoError(b, err)
				}
			})
		}
	}
}
