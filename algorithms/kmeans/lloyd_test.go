package kmeans

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// randomRows returns n×d numbers around a few places.
func randomRows(n, d int, seed uint64) compute.Matrix {
	r := rand.New(rand.NewPCG(seed, 0))
	g := blas32.General{Rows: n, Cols: d, Stride: d}
	for i := range n * d {
		g.Data = append(g.Data, float32(r.NormFloat64()+float64(20*(i/d%7))))
	}
	return compute.Matrix{X: g}
}

func TestInertiaNeverRisesInLloydsAlgorithm(t *testing.T) {
	for seed := range uint64(20) {
		x := randomRows(300, 3, seed)
		r := rand.New(rand.NewPCG(seed, 1))
		weight := make([]float32, 300)
		for i := range weight {
			weight[i] = float32(r.ExpFloat64())
		}
		l := newLloyd(&points{d: 3, parts: []compute.Matrix{x}, weight: weight}, rowsOf(x, r.Perm(300)[:10]))
		l.repairs = true
		before := math.Inf(1)
		for range 30 {
			loss, err := l.run(t.Context(), 1, 0)
			require.NoError(t, err)
			require.LessOrEqual(t, loss, before*(1+1e-6))
			before = loss
		}
	}
}

func TestBreathingNeverMakesTheLossWorse(t *testing.T) {
	for seed := range uint64(10) {
		x := randomRows(400, 2, seed)
		p := &points{d: 2, parts: []compute.Matrix{x}}
		start := rowsOf(x, rand.New(rand.NewPCG(seed, 1)).Perm(400)[:12])
		plain, err := newLloyd(p, clone(start, 12)).run(t.Context(), 300, breathTol)
		require.NoError(t, err)
		best, least, err := breathe(t.Context(), p, start, 5, int64(seed))
		require.NoError(t, err)
		require.Equal(t, 12, best.Rows)
		require.LessOrEqual(t, least, plain)
		loss, err := newLloyd(p, best).assign(t.Context())
		require.NoError(t, err)
		require.InEpsilon(t, least, loss, 1e-9)
	}
}

// Rows in parts, on several hosts' worth of memory, are the same rows.
func TestPartsAreOneMatrix(t *testing.T) {
	x := randomRows(100, 3, 5)
	h := holder{limit: 1 << 30}
	for i := 0; i < 100; i += 30 {
		require.True(t, h.add(rowsBetween(x, i, min(100, i+30))))
	}
	held := 0
	for _, part := range h.parts {
		for i := range part.Rows() {
			row := make([]float32, 3)
			widen(part, i, row)
			require.Equal(t, x.X.Data[held*3:][:3], row)
			held++
		}
	}
	require.Equal(t, 100, held)
	require.False(t, (&holder{limit: 1000}).add(x))
}

func TestACenterWithoutRowsMovesToTheRowThatCostsMost(t *testing.T) {
	x := compute.Matrix{X: blas32.General{Rows: 5, Cols: 1, Stride: 1, Data: []float32{0, 1, 2, 100, 50}}}
	l := newLloyd(&points{d: 1, parts: []compute.Matrix{x}, weight: []float32{1, 1, 1, 1, 9}}, blas32.General{Rows: 3, Cols: 1, Stride: 1, Data: []float32{1, 1, 1}})
	l.repairs = true
	loss, err := l.run(t.Context(), 100, 0)
	require.NoError(t, err)
	require.Equal(t, 2.0, loss)
	slices.Sort(l.centers.Data)
	require.Equal(t, []float32{1, 50, 100}, l.centers.Data)
}

// Rows that are alike leave centers nothing to do, and nothing hangs.
func TestFewerDifferentRowsThanCenters(t *testing.T) {
	x := compute.Matrix{X: blas32.General{Rows: 6, Cols: 1, Stride: 1, Data: []float32{7, 7, 7, 7, 7, 7}}}
	for _, k := range []int{1, 4, 6} {
		chosen, err := plusPlus(t.Context(), rand.New(rand.NewPCG(1, 1)), x, nil, k, 3)
		require.NoError(t, err)
		require.Len(t, chosen, k)
		slices.Sort(chosen)
		require.Len(t, slices.Compact(chosen), k, "different rows")
		l := newLloyd(&points{d: 1, parts: []compute.Matrix{x}}, rowsOf(x, chosen))
		l.repairs = true
		loss, err := l.run(t.Context(), 100, 0)
		require.NoError(t, err)
		require.Zero(t, loss)
		_, least, err := breathe(t.Context(), l.points, l.centers, 5, 1)
		require.NoError(t, err)
		require.Zero(t, least)
	}
}

// Of three far places, k-means++ takes one row each, whatever their sizes; a weight of zero is never taken.
func TestPlusPlusChoosesRowsFarApart(t *testing.T) {
	var x compute.Matrix
	x.X = blas32.General{Cols: 1, Stride: 1}
	weight := make([]float32, 0, 100)
	for i := range 100 {
		place := float32(0)
		switch {
		case i >= 98:
			place = 1e6
		case i >= 90:
			place = -1e6
		}
		x.X.Data = append(x.X.Data, place+float32(i%3))
		weight = append(weight, float32(1-i%2))
		x.X.Rows++
	}
	for seed := range uint64(50) {
		places := map[float64]bool{}
		chosen, err := plusPlus(t.Context(), rand.New(rand.NewPCG(seed, 1)), x, weight, 3, 1)
		require.NoError(t, err)
		for _, i := range chosen {
			require.Zero(t, i%2)
			places[math.Round(float64(x.X.Data[i])/1e6)] = true
		}
		require.Len(t, places, 3)
	}
}

// The update of a round, against the formula of the specification: p = m/(count+m); c ← (1−p)c + p·g; count ← count+m.
func TestTheUpdateIsThatOfTheSpecification(t *testing.T) {
	s := State{K: 3, D: 1, Centers: []float64{1, 2, 3}, Counts: []float64{1, 3, 5}}
	s.update([]float64{10, 0, 7}, []float64{2, 0, 1}, 3, 0)
	require.InDeltaSlice(t, []float64{1./3*1 + 2./3*5, 2, 5./6*3 + 1./6*7}, s.Centers, 1e-12)
	require.Equal(t, []float64{3, 3, 6}, s.Counts)
	// Three rows later, with a half life of three, all counts are half as large before they grow.
	s.update([]float64{0, 4, 0}, []float64{0, 1, 0}, 3, 3)
	require.InDeltaSlice(t, []float64{1.5, 2.5, 3}, s.Counts, 1e-12)
	require.InDelta(t, (1.5*2+4)/2.5, s.Centers[1], 1e-12)
}

// A permutation of the rows of a batch changes sums by their rounding only.
func TestTheOrderOfABatchDoesNotMatter(t *testing.T) {
	x := randomRows(200, 4, 8)
	y := compute.Matrix{X: rowsOf(x, rand.New(rand.NewPCG(3, 3)).Perm(200))}
	centers := rowsOf(x, []int{0, 1, 2, 3, 4, 5, 6})
	a, b := newLloyd(&points{d: 4, parts: []compute.Matrix{x}}, clone(centers, 7)), newLloyd(&points{d: 4, parts: []compute.Matrix{y}}, clone(centers, 7))
	la, err := a.run(t.Context(), 50, 0)
	require.NoError(t, err)
	lb, err := b.run(t.Context(), 50, 0)
	require.NoError(t, err)
	require.InEpsilon(t, la, lb, 1e-5)
	require.InDeltaSlice(t, a.centers.Data, b.centers.Data, 1e-3)
}

func TestAStopEndsLloydsAlgorithm(t *testing.T) {
	x := randomRows(50, 2, 9)
	stops := 0
	p := &points{d: 2, parts: []compute.Matrix{x}, stop: func() bool { stops++; return stops > 5 }}
	best, _, err := breathe(t.Context(), p, rowsOf(x, []int{1, 2, 3}), 5, 1)
	require.ErrorIs(t, err, errEnough)
	require.Equal(t, 3, best.Rows)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = breathe(ctx, p, rowsOf(x, []int{1, 2, 3}), 5, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// Sparse rows are seeds and centers as dense ones.
func TestSparseRowsAreWidened(t *testing.T) {
	x := compute.Matrix{S: &algorithms.CSR{Cols: 4, Indptr: []int{0, 1, 1, 3}, Indices: []int32{2, 3, 0}, Data: []float32{5, 6, 7}}}
	require.Equal(t, []float32{0, 0, 5, 0, 0, 0, 0, 0, 7, 0, 0, 6}, rowsOf(x, []int{0, 1, 2}).Data)
	require.Equal(t, []float32{7, 0, 0, 6}, rowsOf(rowsBetween(x, 2, 3), []int{0}).Data)
}
