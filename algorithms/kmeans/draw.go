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
	s := newSeeding(x, weight)
	chosen := []int{pick(r, s.mass)}
	s.choose(chosen[0], s.to(chosen[0], s.distance[0]))
	for len(chosen) < k {
		best, least := -1, math.Inf(1)
		for range candidates {
			i := pick(r, s.mass)
			if left := s.left(s.to(i, s.distance[1])); left < least || best < 0 {
				best, least = i, left
				s.distance[0], s.distance[1] = s.distance[1], s.distance[0]
			}
		}
		chosen = append(chosen, best)
		s.choose(best, s.distance[0])
	}
	return chosen
}

// A seeding is rows of which some are chosen.
type seeding struct {
	x        compute.Matrix
	weight   []float32
	mass     []float64 // of each row: its weight by its squared distance from the chosen ones; negative where it is chosen
	closest  []float32 // that distance
	distance [2][]float32
	row      blas32.General
	center   compute.Centers
}

func newSeeding(x compute.Matrix, weight []float32) *seeding {
	n, d := x.Rows(), x.Cols()
	s := &seeding{x: x, weight: weight, mass: make([]float64, n), closest: make([]float32, n)}
	for i := range s.mass {
		s.mass[i] = weightOf(weight, i)
		s.closest[i] = math.MaxFloat32
	}
	s.distance = [2][]float32{make([]float32, n), make([]float32, n)}
	s.row = blas32.General{Rows: 1, Cols: d, Stride: d, Data: make([]float32, d)}
	s.center = compute.Default().NewCenters(s.row)
	return s
}

// to writes the squared distance of each row from row i to distance, and returns it.
func (s *seeding) to(i int, distance []float32) []float32 {
	widen(s.x, i, s.row.Data)
	s.center.Set(s.row)
	s.center.Assign(s.x, nil, distance)
	return distance
}

// left returns what the mass of all rows would be were one chosen that is so far from them.
func (s *seeding) left(distance []float32) float64 {
	sum := 0.0
	for l, d := range distance {
		sum += float64(min(d, s.closest[l])) * weightOf(s.weight, l)
	}
	return sum
}

// choose takes row i, which is so far from all rows.
func (s *seeding) choose(i int, distance []float32) {
	for l, d := range distance {
		s.closest[l] = min(d, s.closest[l])
		if s.mass[l] >= 0 {
			s.mass[l] = float64(s.closest[l]) * weightOf(s.weight, l)
		}
	}
	s.mass[i] = -1
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
