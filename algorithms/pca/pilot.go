package pca

import (
	"math"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// pilotRows are at most so many of the first rows.
const pilotRows = 1024

// pilotOf returns a point near the mean of the first rows, from which the rows are subtracted before they are
// squared. Each coordinate is a float32 on a grid as coarse as an eighth to a quarter of how far the rows spread,
// which loses nothing of the pilot's use, and whose few bits make x−pilot exact in float32 for pixels, counts,
// amounts, and whatever else has few bits itself.
//
// Of sparse rows, a coordinate that most of them lack is 0, so that what is not stored stays 0.
func pilotOf(x compute.Matrix) []float64 {
	x = rowsOf(x, 0, min(x.Rows(), pilotRows))
	d, n := x.Cols(), x.Rows()
	mean, count, spread := make([]float64, d), make([]int, d), make([]float64, d)
	each(x, func(j int, v float64) {
		mean[j] += v
		count[j]++
	})
	for j := range mean {
		mean[j] /= float64(n)
	}
	each(x, func(j int, v float64) { spread[j] = max(spread[j], math.Abs(v-mean[j])) })
	for j := range mean {
		switch {
		case 2*count[j] < n:
			mean[j] = 0
		default:
			mean[j] = onGrid(mean[j], spread[j])
		}
	}
	return mean
}

// onGrid rounds the mean to a multiple of a power of two that is small against the spread.
func onGrid(mean, spread float64) float64 {
	nearest := float64(float32(mean))
	if spread == 0 {
		return nearest
	}
	_, exponent := math.Frexp(spread) // spread is in [2^(e−1), 2^e)
	grid := math.Ldexp(1, exponent-3)
	rounded := float64(float32(math.Round(mean/grid) * grid))
	if math.IsInf(rounded, 0) || math.IsNaN(rounded) {
		return nearest
	}
	return rounded
}

// rowsOf returns the rows from i to before j, which share x's memory.
func rowsOf(x compute.Matrix, i, j int) compute.Matrix {
	if i == 0 && j == x.Rows() {
		return x
	}
	if x.S != nil {
		return compute.Matrix{S: &algorithms.CSR{Cols: x.S.Cols, Indptr: x.S.Indptr[i : j+1], Indices: x.S.Indices, Data: x.S.Data}}
	}
	x.X.Data = x.X.Data[i*x.X.Stride : (j-1)*x.X.Stride+x.X.Cols]
	x.X.Rows = j - i
	return x
}

// each calls f with the column and the value of what is stored.
func each(x compute.Matrix, f func(j int, v float64)) {
	for i := range x.Rows() {
		if x.S != nil {
			columns, values := x.S.Row(i)
			for l, j := range columns {
				f(int(j), float64(values[l]))
			}
			continue
		}
		for j, v := range x.X.Data[i*x.X.Stride:][:x.X.Cols] {
			f(j, float64(v))
		}
	}
}
