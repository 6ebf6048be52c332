package pca

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/cluster"
)

// maxSketch bounds the numbers of a sketch, directions times features, which with the rows that wait and what is
// computed from them take some 60 bytes each.
const maxSketch = 1 << 27

// waitingRows is how many rows wait, for each direction of the sketch, until they go into it. Many make the sketch
// better, and cheaper for each row; they are what most of its memory is for.
const waitingRows = 8

// A sketch is the statistic of randomized mode: ℓ orthonormal directions with what the rows come to along them, in
// memory that is O(ℓd).
//
// The original keeps ℓ random combinations of all rows (builtin-algorithms, 2.2), from which ℓ must be large to tell
// directions apart: with 10 extra components, five components of the census held 0.74 of the variance that five can in the worst of 20 runs of
// that, 0.84 in the median; of MNIST 0.47 and 0.59. Here they hold 0.9999 and 0.9998. This is Frequent Directions (Liberty 2013; Ghashami et al. 2016): rows are stacked below the sketch, the ℓ largest singular values and
// right vectors of the stack are the new sketch, and the squares of the values are lowered by the smallest of
// them. Along any direction the sketch is then never above the rows and at most Δ below them, Δ being the sum of what was
// lowered, and Δ ≤ Σ_{j>k} s_j² / (ℓ−k) for every k below ℓ: there is no failure with small probability, and it merges
// as it grows, row blocks or hosts alike. As the lowering is the same along all directions that stay, it is added
// to the values in the end (Desai et al. 2016). The decomposition of a stack is a randomized subspace iteration, as in
// Ghashami, Liberty and Phillips 2016, which multiplies sparse rows as they are.
//
// The mean moves with the rows. Each stack has the rows about their own mean, and one row more for the way from the
// mean before to it, so that nothing is ever subtracted from the sketch (Chan et al. 1983; Ross et al. 2008).
type sketch struct {
	d, l   int
	center bool
	seed   int64
	stacks int64 // decomposed so far

	n      float64
	mean   []float64 // of the n rows; zeros where they are not centred
	total  float64   // Σ‖x−mean‖², exact
	lost   float64   // Δ
	values []float64 // ℓ squares of singular values, descending
	v      blas32.General

	wait compute.Matrix // rows that are not in any of these yet: dense or sparse, as the data are
}

func newSketch(d, l int, center bool, seed int64) *sketch {
	return &sketch{
		d: d, l: l, center: center, seed: seed, mean: make([]float64, d), values: make([]float64, l), v: general(d, l),
	}
}

func general(rows, columns int) blas32.General {
	return blas32.General{Rows: rows, Cols: columns, Stride: max(1, columns), Data: make([]float32, rows*columns)}
}

func (s *sketch) shape() (rows float64, columns int) {
	return s.n + float64(s.wait.Rows()), s.d
}

// observe adds the batch's rows. When they go into the sketch depends on the rows alone, not on how they are cut into batches.
func (s *sketch) observe(ctx context.Context, b *algorithms.Batch) error {
	x := compute.Of(b)
	if x.Cols() != s.d {
		return algospec.ClientErrorf("channel train: %d features, where the snapshot that the job goes on from has %d", x.Cols(), s.d)
	}
	for i := range x.Rows() {
		s.keep(rowsOf(x, i, i+1))
		if s.full() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := s.absorb(); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep appends a row to those that wait.
func (s *sketch) keep(row compute.Matrix) {
	w := &s.wait
	if row.S == nil {
		w.X.Data = append(w.X.Data, row.X.Data...)
		w.X.Rows, w.X.Cols, w.X.Stride = w.X.Rows+1, s.d, s.d
		return
	}
	if w.S == nil {
		w.S = &algorithms.CSR{Cols: s.d, Indptr: []int{0}}
	}
	columns, values := row.S.Row(0)
	w.S.Indices = append(w.S.Indices, columns...)
	w.S.Data = append(w.S.Data, values...)
	w.S.Indptr = append(w.S.Indptr, len(w.S.Data))
}

// full reports whether the rows that wait have as many numbers as waitingRows·ℓ dense rows.
func (s *sketch) full() bool {
	limit := waitingRows * s.l * s.d
	if s.wait.S != nil {
		return len(s.wait.S.Data) >= limit || len(s.wait.S.Indptr) > limit
	}
	return len(s.wait.X.Data) >= limit
}

// absorb puts the rows that wait into the sketch.
func (s *sketch) absorb() error {
	x := s.wait
	m := x.Rows()
	if m == 0 {
		return nil
	}
	st := stack{below: x}
	var mean []float64
	if s.center {
		mean = columnMeans(x, s.d)
		if x.S == nil {
			subtract(x.X, mean)
		} else {
			st.mean = mean
		}
	}
	s.total += st.squares()
	if x.S != nil {
		s.wait.S = &algorithms.CSR{Cols: s.d, Indptr: x.S.Indptr[:1], Indices: x.S.Indices[:0], Data: x.S.Data[:0]}
	} else {
		s.wait.X.Data, s.wait.X.Rows = x.X.Data[:0], 0
	}
	return s.push(&st, float64(m), mean)
}

// push puts m rows of a mean, nil for rows that are not centred, into the sketch, which stand about it in st.
func (s *sketch) push(st *stack, m float64, mean []float64) error {
	st.engine = compute.Default()
	st.above = s.directions(s.move(m, mean))
	s.n += m
	s.stacks++
	random := rand.New(rand.NewPCG(uint64(s.seed), uint64(s.stacks)))
	if err := st.decompose(random, s.values, s.v); err != nil {
		return err
	}
	least := s.values[s.l-1]
	for j := range s.values {
		s.values[j] -= least
	}
	s.lost += least
	return nil
}

// move moves the mean by m rows of another mean, and returns the row that stands for the way: √(n·m/(n+m))·(other−mean).
func (s *sketch) move(m float64, other []float64) []float32 {
	way := make([]float32, s.d)
	factor := s.n * m / (s.n + m)
	for j, x := range other {
		gap := x - s.mean[j]
		way[j] = float32(math.Sqrt(factor) * gap)
		s.total += factor * gap * gap
		s.mean[j] += gap * m / (s.n + m)
	}
	return way
}

// directions returns the sketch as rows, and below them one row more.
func (s *sketch) directions(last []float32) blas32.General {
	rows := general(s.l+1, s.d)
	for i, value := range s.values {
		length := float32(math.Sqrt(value))
		for j, row := 0, rows.Data[i*s.d:][:s.d]; j < s.d; j++ {
			row[j] = length * s.v.Data[j*s.l+i]
		}
	}
	copy(rows.Data[s.l*s.d:], last)
	return rows
}

// reduce merges the sketches of all hosts in rank order; each host does it for itself.
func (s *sketch) reduce(ctx context.Context, hosts *cluster.Cluster) error {
	if err := s.absorb(); err != nil || hosts.Size() == 1 {
		return err
	}
	sum := newSketch(s.d, s.l, s.center, s.seed)
	for rank := range hosts.Size() {
		numbers := s.numbers()
		if err := hosts.Broadcast(ctx, rank, numbers); err != nil {
			return err
		}
		part := newSketch(s.d, s.l, s.center, s.seed)
		part.setNumbers(numbers)
		if err := sum.merge(part); err != nil {
			return err
		}
	}
	*s = *sum
	return nil
}

// merge adds the rows of another sketch, whose directions lie about its mean.
func (s *sketch) merge(other statistic) error {
	o, ok := other.(*sketch)
	if !ok || o.d != s.d || o.center != s.center {
		return errOtherStatistic
	}
	if err := cmp.Or(s.absorb(), o.absorb()); err != nil || o.n == 0 {
		return err
	}
	var mean []float64
	if s.center {
		mean = o.mean
	}
	s.total += o.total
	s.lost += o.lost
	return s.push(&stack{below: compute.Matrix{X: o.directions(make([]float32, s.d))}}, o.n, mean)
}

// solve returns the model of the k largest components, the largest first, as the original's randomized mode has them.
func (s *sketch) solve(p Params) (*Model, error) {
	if err := s.absorb(); err != nil {
		return nil, err
	}
	k := p.NumComponents
	if k > s.l {
		return nil, algospec.ClientErrorf("hyperparameter num_components: %d: more than the %d directions of the sketch", k, s.l)
	}
	values, vectors := make([]float64, k), mat.NewDense(s.d, k, nil)
	for j := range values {
		values[j] = math.Sqrt(s.values[j] + s.lost)
		for i := range s.d {
			vectors.Set(i, j, float64(s.v.Data[i*s.l+j]))
		}
	}
	var mean []float64
	if s.center {
		mean = s.mean
	}
	return newModel(values, vectors, mean, s.n, s.total, false), nil
}

func subtract(x blas32.General, mean []float64) {
	for i := range x.Rows {
		row := x.Data[i*x.Stride:][:x.Cols]
		for j := range row {
			row[j] = float32(float64(row[j]) - mean[j])
		}
	}
}

func columnMeans(x compute.Matrix, d int) []float64 {
	mean := make([]float64, d)
	each(x, func(j int, v float64) { mean[j] += v })
	floats.Scale(1/float64(x.Rows()), mean)
	return mean
}
