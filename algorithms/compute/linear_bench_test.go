package compute_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// BenchmarkLinear is steps of logistic models on batches of 1,000 rows: dense, and 14 of 123 columns.
func BenchmarkLinear(b *testing.B) {
	const n = 1000
	for _, d := range []int{20, 123, 784} {
		for _, sparse := range []bool{false, true} {
			if sparse != (d == 123) {
				continue
			}
			for _, models := range []int{1, 32} {
				b.Run(fmt.Sprintf("%d columns, sparse %v, %d models", d, sparse, models), func(b *testing.B) {
					random := rand.New(rand.NewPCG(1, 0))
					x := compute.Matrix{X: blas32.General{Rows: n, Cols: d, Stride: d}}
					labels := make([]float32, n)
					for i := range labels {
						labels[i] = float32(random.IntN(2))
					}
					if sparse {
						s := &algorithms.CSR{Cols: d, Indptr: []int{0}}
						for range n {
							for j := range 14 {
								s.Indices, s.Data = append(s.Indices, int32(j*8+random.IntN(8))), append(s.Data, 1)
							}
							s.Indptr = append(s.Indptr, len(s.Data))
						}
						x = compute.Matrix{S: s}
					} else {
						for range n * d {
							x.X.Data = append(x.X.Data, float32(random.NormFloat64()))
						}
					}
					c := compute.LinearConfig{Features: d, Outputs: 1, Models: make([]compute.LinearModel, models), Beta1: 0.9, Beta2: 0.999, BiasRate: 10, Average: true}
					linear := compute.Default().NewLinear(c)
					rates := make([]float64, models)
					for m := range rates {
						rates[m] = 0.005
					}
					b.ReportAllocs()
					for b.Loop() {
						linear.Gradient(x, labels, nil)
						linear.Update(1/float64(n), rates, 0.1)
					}
					b.ReportMetric(float64(n)*float64(models)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows·models/s")
				})
			}
		}
	}
}
