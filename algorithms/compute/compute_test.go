package compute_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/compute/computetest"
	"github.com/algospec/algospec/internal/testenv"
)

// engines returns the names of those that this machine has.
func engines() (names []string) {
	for _, name := range []string{"avx512", "avx2", "blas", "go"} {
		if _, err := compute.CPU(compute.Options{Kernels: name}); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func TestEngines(t *testing.T) {
	for _, name := range engines() {
		t.Run(name, func(t *testing.T) {
			engine, err := compute.CPU(compute.Options{Kernels: name})
			require.NoError(t, err)
			if !testenv.Race { // minutes, of which the next has all that runs at the same time
				computetest.Test(t, engine)
			}
			computetest.TestThreads(t, func(threads int) compute.Engine {
				engine, err := compute.CPU(compute.Options{Kernels: name, Threads: threads})
				require.NoError(t, err)
				return engine
			})
		})
	}
}

func normal(n, d int) blas32.General {
	r := rand.New(rand.NewPCG(1, 2))
	x := blas32.General{Rows: n, Cols: d, Stride: d, Data: make([]float32, n*d)}
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	return x
}
