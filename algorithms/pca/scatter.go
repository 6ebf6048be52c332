package pca

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/cluster"
)

// maxFeatures bounds the d×d matrix of regular mode to 8 GiB.
const maxFeatures = 1 << 15

// blockRows is how many rows are widened to float64 and multiplied at a time: few enough that a
// block stays in the cache.
const blockRows = 128

// A scatter is the statistic of regular mode: the count, the sum and the sum of outer products of
// rows, all in float64 and about a pilot near the mean, so that data far from zero do not cancel.
type scatter struct {
	d     int
	n     float64
	pilot []float64
	sum   []float64     // Σ(x−pilot)
	outer *mat.SymDense // Σ(x−pilot)(x−pilot)ᵀ
	block []float64
}

// observe adds the batch's rows. It returns context.Cause(ctx) once ctx is done.
func (s *scatter) observe(ctx context.Context, b *algorithms.Batch) error {
	if s.outer == nil {
		s.init(b)
	}
	if b.X.Cols != s.d {
		return algospec.ClientErrorf("channel train: %d features, where the snapshot that the job goes on from has %d", b.X.Cols, s.d)
	}
	for i := 0; i < b.Rows(); i += blockRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rows := min(blockRows, b.Rows()-i)
		block := blas64.General{Rows: rows, Cols: s.d, Stride: s.d, Data: s.block[:rows*s.d]}
		for r := range rows {
			s.widen(block.Data[r*s.d:][:s.d], b.Row(i+r))
		}
		blas64.Syrk(blas.Trans, 1, block, 1, s.outer.RawSymmetric())
	}
	s.n += float64(b.Rows())
	return nil
}

// init takes the mean of the first batch for the pilot.
func (s *scatter) init(b *algorithms.Batch) {
	s.alloc(b.X.Cols)
	b.ColumnSums(s.pilot)
	for j := range s.pilot {
		s.pilot[j] /= float64(b.Rows())
	}
}

// alloc makes the statistic of no rows of d features.
func (s *scatter) alloc(d int) {
	s.d = d
	s.pilot = make([]float64, s.d)
	s.sum = make([]float64, s.d)
	s.outer = mat.NewSymDense(s.d, nil)
	s.block = make([]float64, blockRows*s.d)
}

// widen writes x−pilot to dst and adds it to the sum.
func (s *scatter) widen(dst []float64, x []float32) {
	pilot, sum := s.pilot[:len(dst)], s.sum[:len(dst)]
	for j, xj := range x[:len(dst)] {
		v := float64(xj) - pilot[j]
		dst[j] = v
		sum[j] += v
	}
}

var errNoRecords = algospec.ClientErrorf("channel train: no record in it")

// reduce sums the statistics of all hosts and returns the number of rows, their mean, and the
// scatter about it: Σ(x−mean)(x−mean)ᵀ. All hosts get the same bits.
func (s *scatter) reduce(ctx context.Context, hosts *cluster.Cluster) (n float64, mean []float64, outer *mat.SymDense, err error) {
	d, err := commonWidth(ctx, s.d, hosts)
	if err != nil {
		return 0, nil, nil, err
	}
	if s.outer == nil { // no row came to this host
		s.alloc(d)
	}
	// Each host knows its mean to the last bit only about its own pilot, so the means come first
	// and the scatters are moved to the common one before they are added (Chan et al. 1983).
	totals := make([]float64, s.d+1)
	totals[s.d] = s.n
	for j := range s.d {
		totals[j] = s.n*s.pilot[j] + s.sum[j]
	}
	if err := hosts.AllReduce(ctx, totals); err != nil {
		return 0, nil, nil, err
	}
	n = totals[s.d]
	mean = totals[:s.d]
	for j := range mean {
		mean[j] /= n
	}
	s.moveTo(mean)
	if err := hosts.AllReduce(ctx, s.outer.RawSymmetric().Data); err != nil {
		return 0, nil, nil, err
	}
	return n, mean, s.outer, nil
}

// commonWidth returns how many features the rows of all hosts have, where this one's have d; 0 is of
// a host without rows.
func commonWidth(ctx context.Context, d int, hosts *cluster.Cluster) (int, error) {
	widths := make([]float64, hosts.Size())
	widths[hosts.Rank()] = float64(d)
	if err := hosts.AllReduce(ctx, widths); err != nil {
		return 0, err
	}
	common := 0.0
	for rank, width := range widths {
		switch {
		case common == 0:
			common = width
		case width != 0 && width != common:
			return 0, algospec.ClientErrorf("channel train: the host of rank %d has %v features, and one before it %v", rank, width, common)
		}
	}
	if common == 0 {
		return 0, errNoRecords
	}
	return int(common), nil
}

// moveTo makes outer the scatter about center: with e = center−pilot it is
// Σ(x−pilot)(x−pilot)ᵀ − sum eᵀ − e sumᵀ + n e eᵀ.
func (s *scatter) moveTo(center []float64) {
	e := make([]float64, s.d)
	for j := range e {
		e[j] = center[j] - s.pilot[j]
	}
	for i := range s.d {
		for j := i; j < s.d; j++ {
			s.outer.SetSym(i, j, s.outer.At(i, j)-s.sum[i]*e[j]-e[i]*s.sum[j]+s.n*e[i]*e[j])
		}
	}
}

// solve returns the model of the k largest components, and the share of the variance that they
// explain; 1 when there is none to explain.
func solve(n float64, mean []float64, outer *mat.SymDense, p Params) (*Model, float64, error) {
	d, k := len(mean), p.NumComponents
	if !p.SubtractMean {
		outer.SymRankOne(outer, n, mat.NewVecDense(d, mean)) // Σxxᵀ
		mean = nil
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(outer, true) {
		return nil, 0, errors.New("pca: the eigendecomposition did not converge")
	}
	values := eigen.Values(nil) // ascending, as the columns of the model are
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for j := range values {
		values[j] = max(values[j], 0) // rounding can leave a zero slightly negative
	}
	explained := 1.0
	if total := floats.Sum(values); total > 0 {
		explained = floats.Sum(values[d-k:]) / total
	}
	m := newModel(d, k, mean)
	for j := range k {
		from := d - k + j
		m.S[j] = float32(math.Sqrt(values[from]))
		sign := direction(vectors.ColView(from))
		for i := range d {
			m.V.Data[i*k+j] = float32(sign * vectors.At(i, from))
		}
	}
	return m, explained, nil
}

// direction returns the sign that makes the vector's largest entry positive.
func direction(v mat.Vector) float64 {
	largest := 0.0
	for i := range v.Len() {
		if x := v.AtVec(i); math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	return math.Copysign(1, largest)
}
