//go:build unix

package compute_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/internal/rusage"
)

// eachEngine runs a benchmark of every engine, with two threads.
func eachEngine(b *testing.B, f func(b *testing.B, e compute.Engine)) {
	for _, name := range engines() {
		e, err := compute.CPU(compute.Options{Kernels: name, Threads: 2})
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) { f(b, e) })
	}
}

// gflops reports how many 10⁹ additions and multiplications a second an operation made.
// It counts by the clock, and by the time of the processor, which others that work on the machine change less.
func gflops(b *testing.B, perCall float64, used time.Duration) {
	b.ReportMetric(perCall*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(perCall*float64(b.N)/used.Seconds()/1e9, "GFLOP/cpu-s")
}

func BenchmarkGram(b *testing.B) {
	for _, shape := range [][2]int{{5000, 50}, {100000, 50}, {4000, 200}, {4000, 784}} {
		n, d := shape[0], shape[1]
		b.Run(fmt.Sprintf("%d×%d", n, d), func(b *testing.B) {
			x := compute.Matrix{X: normal(n, d)}
			eachEngine(b, func(b *testing.B, e compute.Engine) {
				g := e.NewGram(make([]float32, d))
				g.Add(x)
				b.SetBytes(int64(4 * n * d))
				b.ReportAllocs()
				begin := rusage.Time()
				for b.Loop() {
					g.Add(x)
				}
				gflops(b, float64(n)*float64(d)*float64(d+1), rusage.Time()-begin)
			})
		})
	}
}

func BenchmarkAssignAndSum(b *testing.B) {
	for _, shape := range [][3]int{{20000, 50, 10}, {20000, 50, 100}, {20000, 50, 500}, {5000, 784, 10}, {5000, 784, 100}, {5000, 784, 500}} {
		n, d, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%d×%d/k=%d", n, d, k), func(b *testing.B) {
			x := compute.Matrix{X: normal(n, d)}
			centers := normal(k, d)
			eachEngine(b, func(b *testing.B, e compute.Engine) {
				c := e.NewCenters(centers)
				sums, weights := make([]float64, k*d), make([]float64, k)
				c.AssignAndSum(x, nil, sums, weights)
				b.SetBytes(int64(4 * n * d))
				b.ReportAllocs()
				begin := rusage.Time()
				for b.Loop() {
					c.AssignAndSum(x, nil, sums, weights)
				}
				gflops(b, 2*float64(n)*float64(d)*float64(k), rusage.Time()-begin)
			})
		})
	}
}

func BenchmarkMultiply(b *testing.B) {
	for _, d := range []int{20, 50, 784} {
		const n, m = 1000, 32
		x := compute.Matrix{X: normal(n, d)}
		forward, backward := normal(d, m), normal(n, m)
		for _, transposed := range []bool{false, true} {
			from, to := forward, backward
			if transposed {
				from, to = backward, forward
			}
			b.Run(fmt.Sprintf("%d×%d×%d/transposed=%v", n, d, m, transposed), func(b *testing.B) {
				eachEngine(b, func(b *testing.B, e compute.Engine) {
					b.SetBytes(int64(4 * n * d))
					b.ReportAllocs()
					begin := rusage.Time()
					for b.Loop() {
						clear(to.Data)
						e.Multiply(transposed, x, from, to)
					}
					gflops(b, 2*n*float64(d)*m, rusage.Time()-begin)
				})
			})
		}
	}
}

// Rows with 50 of 10,000 columns.
func BenchmarkSparse(b *testing.B) {
	const n, d, stored, k = 5000, 10000, 50, 100
	r := rand.New(rand.NewPCG(1, 2))
	s := &algorithms.CSR{Cols: d, Indptr: []int{0}}
	for range n {
		for _, j := range r.Perm(d)[:stored] {
			s.Indices, s.Data = append(s.Indices, int32(j)), append(s.Data, float32(r.NormFloat64()))
		}
		s.Indptr = append(s.Indptr, len(s.Data))
	}
	x, centers := compute.Matrix{S: s}, normal(k, d)
	b.Run("AssignAndSum", func(b *testing.B) {
		eachEngine(b, func(b *testing.B, e compute.Engine) {
			c := e.NewCenters(centers)
			sums, weights := make([]float64, k*d), make([]float64, k)
			c.AssignAndSum(x, nil, sums, weights)
			b.ReportAllocs()
			begin := rusage.Time()
			for b.Loop() {
				c.AssignAndSum(x, nil, sums, weights)
			}
			gflops(b, 2*n*stored*k, rusage.Time()-begin)
		})
	})
	for _, transposed := range []bool{false, true} {
		b.Run(fmt.Sprintf("Multiply/transposed=%v", transposed), func(b *testing.B) {
			from, to := normal(d, 32), normal(n, 32)
			if transposed {
				from, to = to, from
			}
			eachEngine(b, func(b *testing.B, e compute.Engine) {
				b.ReportAllocs()
				begin := rusage.Time()
				for b.Loop() {
					clear(to.Data)
					e.Multiply(transposed, x, from, to)
				}
				gflops(b, 2*n*stored*32, rusage.Time()-begin)
			})
		})
	}
}
