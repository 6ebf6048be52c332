package pca

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/cluster"
)

// maxFeatures bounds the d×d matrix of regular mode to 8 GiB, and what the engine holds to as much.
const maxFeatures = 1 << 15

// A scatter is the statistic of regular mode: the count, the sum and the sum of outer products of
// rows, in float64 and about a pilot near the mean, so that data far from zero do not cancel.
type scatter struct {
	d     int
	n     float64
	pilot []float64
	sum   []float64     // Σ(x−pilot)
	outer *mat.SymDense // Σ(x−pilot)(x−pilot)ᵀ
	gram  compute.Gram  // empty between batches; nil before the first
}

// observe adds the batch's rows. It returns context.Cause(ctx) once ctx is done.
func (s *scatter) observe(ctx context.Context, b *algorithms.Batch) error {
	x := compute.Of(b)
	if s.outer == nil {
		s.alloc(x.Cols())
		copy(s.pilot, pilotOf(x))
	}
	if x.Cols() != s.d {
		return algospec.ClientErrorf("channel train: %d features, where the snapshot that the job goes on from has %d", x.Cols(), s.d)
	}
	if s.gram == nil {
		s.gram = compute.Default().NewGram(s.narrow())
	}
	// So many rows that the engine is busy for a second or so, after which the context has its say.
	step := max(256, 1<<32/(s.d*s.d))
	for i := 0; i < x.Rows(); i += step {
		if ctx.Err() != nil {
			s.gram = nil
			return context.Cause(ctx)
		}
		s.gram.Add(rowsOf(x, i, min(i+step, x.Rows())))
	}
	// After each batch, so that the sums are the same bits wherever snapshots are taken.
	s.n += float64(s.gram.Sums(s.sum, s.outer.RawSymmetric().Data))
	return nil
}

// narrow returns the pilot as float32 and moves the sums there, which is nowhere for a pilot of pilotOf.
func (s *scatter) narrow() []float32 {
	narrow, exact := make([]float32, s.d), make([]float64, s.d)
	for j, p := range s.pilot {
		narrow[j] = float32(p)
		exact[j] = float64(narrow[j])
	}
	if !floats.Equal(exact, s.pilot) {
		s.moveTo(exact)
	}
	return narrow
}

// alloc makes the statistic of no rows of d features.
func (s *scatter) alloc(d int) {
	s.d = d
	s.pilot = make([]float64, d)
	s.sum = make([]float64, d)
	s.outer = mat.NewSymDense(d, nil)
}

func (s *scatter) shape() (rows float64, columns int) { return s.n, s.d }

// reduce replaces the statistic by that of all hosts, about their mean. All hosts get the same bits.
func (s *scatter) reduce(ctx context.Context, hosts *cluster.Cluster) error {
	// Each host knows its mean to the last bit only about its own pilot, so the means come first
	// and the scatters are moved to the common one before they are added (Chan et al. 1983).
	totals := append(s.weightedMean(), s.n)
	if err := hosts.AllReduce(ctx, totals); err != nil {
		return err
	}
	n, mean := totals[s.d], totals[:s.d:s.d]
	floats.Scale(1/n, mean)
	s.moveTo(mean)
	if err := hosts.AllReduce(ctx, s.outer.RawSymmetric().Data); err != nil {
		return err
	}
	s.n = n
	clear(s.sum)
	return nil
}

// weightedMean returns Σx.
func (s *scatter) weightedMean() []float64 {
	total := make([]float64, s.d)
	for j := range total {
		total[j] = s.n*s.pilot[j] + s.sum[j]
	}
	return total
}

// merge adds the rows of o, which is used up.
func (s *scatter) merge(other statistic) error {
	o, ok := other.(*scatter)
	if !ok || o.d != s.d {
		return errOtherStatistic
	}
	if o.n == 0 {
		return nil
	}
	mean := s.weightedMean()
	floats.Add(mean, o.weightedMean())
	floats.Scale(1/(s.n+o.n), mean)
	s.moveTo(mean)
	o.moveTo(mean)
	s.outer.AddSym(s.outer, o.outer)
	floats.Add(s.sum, o.sum)
	s.n += o.n
	s.gram = nil
	return nil
}

// moveTo makes center the pilot: with e = center−pilot, outer becomes
// Σ(x−pilot)(x−pilot)ᵀ − sum eᵀ − e sumᵀ + n e eᵀ.
func (s *scatter) moveTo(center []float64) {
	e := make([]float64, s.d)
	for j := range e {
		e[j] = center[j] - s.pilot[j]
	}
	outer := s.outer.RawSymmetric()
	for i := range s.d {
		row := outer.Data[i*outer.Stride:][:s.d]
		a, b := e[i], s.sum[i]-s.n*e[i]
		for j := i; j < s.d; j++ {
			row[j] -= a*s.sum[j] + b*e[j]
		}
	}
	for j := range e {
		s.sum[j] -= s.n * e[j]
	}
	s.pilot = append([]float64(nil), center...)
	s.gram = nil
}

// solve returns the model of the k largest components.
func (s *scatter) solve(p Params) (*Model, error) {
	mean := s.weightedMean()
	floats.Scale(1/s.n, mean)
	s.moveTo(mean)
	outer := mat.NewSymDense(s.d, nil)
	outer.CopySym(s.outer)
	if !p.SubtractMean {
		outer.SymRankOne(outer, s.n, mat.NewVecDense(s.d, mean)) // Σxxᵀ
		mean = nil
	}
	total := 0.0
	for j := range s.d {
		total += max(0, outer.At(j, j))
	}
	if math.IsInf(total, 0) || math.IsNaN(total) {
		return nil, algospec.ClientErrorf("channel train: the features are so large that the sum of their squares is %v", total)
	}
	values, vectors, err := largest(outer, p.NumComponents)
	if err != nil {
		return nil, err
	}
	return newModel(values, vectors, mean, s.n, total, !p.randomized()), nil
}
