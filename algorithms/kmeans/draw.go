package kmeans

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// Streams of random numbers, each of the run's seed: what one of them draws does not depend on the others.
const (
	streamInit     = 1
	streamParallel = 1 << 20 // and the round and the rank
	streamBreath   = 1 << 30
	streamShrink   = 1 << 32 // and the trial
)

func stream(seed int64, number uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), number)) }

// plusPlus chooses k different rows of x, which has as many, as k-means++ does (Arthur and Vassilvitskii 2007): each with the probability of its
// weight, nil being 1 each, by its squared distance from those chosen before. Of so many candidates at a time that one is
// chosen which leaves the least; more than one is what they call greedy.
func plusPlus(r *rand.Rand, x compute.Matrix, weight []float32, k, candidates int) []int {
	s := newSeeding(x, weight, candidates)
	var chosen []int
	for len(chosen) < k {
		for c := range s.candidates {
			if s.candidates[c] = pick(r, s.mass); len(chosen) == 0 { // the first one just so, or all trials would begin in the middle
				s.candidates[c] = s.candidates[0]
			}
		}
		chosen = append(chosen, s.choose())
	}
	return chosen
}

// A seeding is rows of which some are chosen.
type seeding struct {
	x          compute.Matrix
	weight     []float32
	mass       []float64 // of each row: its weight by its squared distance from the chosen ones; negative where it is chosen
	closest    []float32 // that distance
	candidates []int
	rows       blas32.General // the candidates
	distance   blas32.General // of each row to each candidate, squared
	center     compute.Centers
}

func newSeeding(x compute.Matrix, weight []float32, candidates int) *seeding {
	n, d := x.Rows(), x.Cols()
	s := &seeding{x: x, weight: weight, mass: make([]float64, n), closest: make([]float32, n), candidates: make([]int, candidates)}
	for i := range s.mass {
		s.mass[i] = weightOf(weight, i)
		s.closest[i] = math.MaxFloat32
	}
	s.rows = blas32.General{Rows: candidates, Cols: d, Stride: d, Data: make([]float32, candidates*d)}
	s.distance = blas32.General{Rows: n, Cols: candidates, Stride: candidates, Data: make([]float32, n*candidates)}
	s.center = compute.Default().NewCenters(s.rows)
	return s
}

// choose takes the candidate that leaves the least mass.
func (s *seeding) choose() int {
	for c, i := range s.candidates {
		widen(s.x, i, s.rows.Data[c*s.rows.Cols:][:s.rows.Cols])
	}
	s.center.Set(s.rows)
	s.center.Distances(s.x, s.distance)
	width := len(s.candidates)
	left := make([]float64, width)
	for i, closest := range s.closest {
		w := weightOf(s.weight, i)
		for c, d := range s.distance.Data[i*width:][:width] {
			left[c] += float64(min(d, closest)) * w
		}
	}
	best := 0
	for c := range left {
		if left[c] < left[best] {
			best = c
		}
	}
	for i := range s.closest {
		s.closest[i] = min(s.closest[i], s.distance.Data[i*width+best])
		if s.mass[i] >= 0 {
			s.mass[i] = float64(s.closest[i]) * weightOf(s.weight, i)
		}
	}
	s.mass[s.candidates[best]] = -1
	return s.candidates[best]
}

func weightOf(weight []float32, i int) float64 {
	if weight == nil {
		return 1
	}
	return float64(weight[i])
}

// pick returns a place with the probability of its mass. Those of negative mass are out; where all others have none, one is as good as
// another. At least one is not out.
func pick(r *rand.Rand, mass []float64) int {
	total, left := 0.0, 0
	for _, m := range mass {
		if m >= 0 {
			total += m
			left++
		}
	}
	if !(total > 0) {
		nth := r.IntN(left)
		for i, m := range mass {
			if m >= 0 {
				if nth == 0 {
					return i
				}
				nth--
			}
		}
	}
	u, last := r.Float64()*total, 0
	for i, m := range mass {
		if m > 0 {
			last = i
			if u -= m; u < 0 {
				break
			}
		}
	}
	return last
}

// widen writes row i of x to dst.
func widen(x compute.Matrix, i int, dst []float32) {
	if x.S == nil {
		copy(dst, x.X.Data[i*x.X.Stride:][:x.X.Cols])
		return
	}
	clear(dst)
	columns, values := x.S.Row(i)
	for l, j := range columns {
		dst[j] = values[l]
	}
}

// rowsOf returns rows of x as a matrix.
func rowsOf(x compute.Matrix, rows []int) blas32.General {
	c := blas32.General{Rows: len(rows), Cols: x.Cols(), Stride: x.Cols(), Data: make([]float32, len(rows)*x.Cols())}
	for l, i := range rows {
		widen(x, i, c.Data[l*c.Cols:][:c.Cols])
	}
	return c
}
