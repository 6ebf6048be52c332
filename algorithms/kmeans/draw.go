package kmeans

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"

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
func plusPlus(ctx context.Context, r *rand.Rand, x compute.Matrix, weight []float32, k, candidates int) ([]int, error) {
	return newSeeding(x, weight, candidates, blas32.General{}).choose(ctx, r, k)
}

// A seeding is rows of which some are chosen.
type seeding struct {
	x          compute.Matrix
	all        blas32.General // the squared distance of each row to each, if that is known
	weight     []float64      // of each row
	closest    []float32      // the squared distance of each row from the chosen ones
	mass       []float64      // of each row: weight·closest; negative where it is chosen
	until      []float64      // the sum of the masses to each row and with it, without those that are chosen
	left       int            // rows that are not chosen
	candidates []int
	distance   [][]float32 // of each candidate to each row, squared
	near       nearby
}

func newSeeding(x compute.Matrix, weight []float32, candidates int, all blas32.General) *seeding {
	n := x.Rows()
	s := &seeding{
		x: x, all: all, weight: make([]float64, n), closest: make([]float32, n), mass: make([]float64, n), until: make([]float64, n), left: n,
		candidates: make([]int, candidates), distance: make([][]float32, candidates),
	}
	sum := 0.0
	for i := range s.mass {
		s.closest[i] = math.MaxFloat32
		s.weight[i] = weightOf(weight, i)
		s.mass[i] = s.weight[i]
		sum += s.mass[i]
		s.until[i] = sum
	}
	return s
}

func (s *seeding) choose(ctx context.Context, r *rand.Rand, k int) (chosen []int, err error) {
	for len(chosen) < k {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for c := range s.candidates {
			if s.candidates[c] = s.draw(r); len(chosen) == 0 { // the first one just so, or all trials would begin in the middle
				s.candidates[c] = s.candidates[0]
			}
		}
		chosen = append(chosen, s.next())
	}
	return chosen, nil
}

// draw returns a row with the probability of its mass. Where none has any, one is as good as another. At least one is not chosen.
func (s *seeding) draw(r *rand.Rand) int {
	total := s.until[len(s.until)-1]
	if !(total > 0) {
		nth := r.IntN(s.left)
		for i, m := range s.mass {
			if m >= 0 {
				if nth == 0 {
					return i
				}
				nth--
			}
		}
	}
	u := r.Float64() * total // rounded up to the total, at times
	i := sort.Search(len(s.until)-1, func(i int) bool { return s.until[i] > u })
	for !(s.mass[i] > 0) {
		i--
	}
	return i
}

// next takes the candidate that leaves the least mass.
func (s *seeding) next() int {
	s.measure()
	best, least := 0, math.Inf(1)
	for c, distance := range s.distance {
		if mass := s.without(distance); mass < least {
			best, least = c, mass
		}
	}
	chosen, distance := s.candidates[best], s.distance[best]
	s.mass[chosen] = -1
	s.left--
	sum := 0.0
	for i, closest := range s.closest {
		closest = min(closest, distance[i])
		s.closest[i] = closest
		if s.mass[i] >= 0 {
			s.mass[i] = float64(closest) * s.weight[i]
			sum += s.mass[i]
		}
		s.until[i] = sum
	}
	return chosen
}

// without returns the mass that is left when a row of these distances is chosen.
func (s *seeding) without(distance []float32) float64 {
	var sums [4]float64 // which do not wait for each other
	i := 0
	closest, weight := s.closest[:len(distance)], s.weight[:len(distance)]
	for ; i+4 <= len(distance); i += 4 {
		sums[0] += float64(min(distance[i], closest[i])) * weight[i]
		sums[1] += float64(min(distance[i+1], closest[i+1])) * weight[i+1]
		sums[2] += float64(min(distance[i+2], closest[i+2])) * weight[i+2]
		sums[3] += float64(min(distance[i+3], closest[i+3])) * weight[i+3]
	}
	for ; i < len(distance); i++ {
		sums[0] += float64(min(distance[i], closest[i])) * weight[i]
	}
	return sums[0] + sums[1] + sums[2] + sums[3]
}

// measure gets the distances of the candidates.
func (s *seeding) measure() {
	if s.all.Rows == 0 {
		s.near.measure(s.x, s.candidates, s.distance)
		return
	}
	for c, i := range s.candidates {
		s.distance[c] = s.all.Data[i*s.all.Stride:][:s.all.Cols]
	}
}

// nearby is what it takes to measure the distances of a few rows.
type nearby struct {
	rows     blas32.General
	distance blas32.General // of each row of x to each of them
	centers  compute.Centers
}

// measure gets the squared distances of some rows to each row.
func (m *nearby) measure(x compute.Matrix, rows []int, distance [][]float32) {
	n, d, few := x.Rows(), x.Cols(), len(rows)
	if m.centers == nil {
		m.rows = blas32.General{Rows: few, Cols: d, Stride: d, Data: make([]float32, few*d)}
		m.distance = blas32.General{Rows: n, Cols: few, Stride: few, Data: make([]float32, n*few)}
		m.centers = compute.Default().NewCenters(m.rows)
		for c := range distance {
			distance[c] = make([]float32, n)
		}
	}
	for c, i := range rows {
		widen(x, i, m.rows.Data[c*d:][:d])
	}
	m.centers.Set(m.rows)
	m.centers.Distances(x, m.distance)
	for c, to := range distance {
		for i := range to {
			to[i] = m.distance.Data[i*few+c]
		}
	}
}

// between returns the squared distance of each row to each, of which a seeding then needs none twice, and which cost less all at once.
func between(x compute.Matrix) blas32.General {
	n := x.Rows()
	all := blas32.General{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
	compute.Default().NewCenters(x.X).Distances(x, all)
	return all
}

func weightOf(weight []float32, i int) float64 {
	if weight == nil {
		return 1
	}
	return float64(weight[i])
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
