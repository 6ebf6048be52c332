package compute_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/internal/testenv"
)

func TestSelect(t *testing.T) {
	t.Run("by the environment variable", func(t *testing.T) {
		t.Setenv(compute.Variable, "go")
		engine, err := compute.Select("")
		require.NoError(t, err)
		require.Contains(t, engine.Name(), "cpu (go, ")
	})
	t.Run("by its name, whatever the variable says", func(t *testing.T) {
		t.Setenv(compute.Variable, "nonsense")
		engine, err := compute.Select("go")
		require.NoError(t, err)
		require.Contains(t, engine.Name(), "cpu (go, ")
	})
	t.Run("an unknown engine is the user's mistake", func(t *testing.T) {
		t.Setenv(compute.Variable, "avx1024")
		_, err := compute.Select("")
		require.ErrorContains(t, err, `environment variable ALGOSPEC_COMPUTE: "avx1024": no engine of this machine, which has auto, `)
		var client interface{ ClientError() bool }
		require.True(t, errors.As(err, &client) && client.ClientError())
		_, err = compute.Select("avx1024")
		require.ErrorContains(t, err, `compute: "avx1024": no engine`)
	})
	t.Run("auto is the fastest of the names", func(t *testing.T) {
		auto, err := compute.CPU(compute.Options{Kernels: "auto", Threads: 1})
		require.NoError(t, err)
		first, err := compute.CPU(compute.Options{Kernels: engines()[0], Threads: 1})
		require.NoError(t, err)
		require.Equal(t, first.Name(), auto.Name())
	})
	_, err := compute.CPU(compute.Options{Threads: -1})
	require.ErrorContains(t, err, "-1 threads")
}

func TestThreadsAreNoMoreThanGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	engine, err := compute.CPU(compute.Options{Kernels: "go", Threads: 8})
	require.NoError(t, err)
	require.Equal(t, "cpu (go, 3 threads)", engine.Name())
	runtime.GOMAXPROCS(1)
	require.Equal(t, "cpu (go, 1 thread)", engine.Name())
}

// Calls take the memory of those before them.
func TestCallsAllocateNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector's sync.Pool forgets on purpose")
	}
	const n, k = 700, 10
	for _, name := range engines() {
		if name == "blas" {
			continue // purego allocates for each call
		}
		for _, d := range []int{50, 200, 400} {
			engine, err := compute.CPU(compute.Options{Kernels: name, Threads: 2})
			require.NoError(t, err)
			x, wide := compute.Matrix{X: normal(n, d)}, normal(n, 40)
			gram, centers := engine.NewGram(make([]float32, d)), engine.NewCenters(normal(k, d))
			sums, weights, near := make([]float64, k*d), make([]float64, k), make([]int32, n)
			b, c := normal(d, 40), blas32.General{Rows: d, Cols: 40, Stride: 40, Data: make([]float32, d*40)}
			for what, call := range map[string]func(){
				"Gram.Add":             func() { gram.Add(x) },
				"Centers.Assign":       func() { centers.Assign(x, near, nil) },
				"Centers.AssignAndSum": func() { centers.AssignAndSum(x, nil, sums, weights) },
				"Multiply":             func() { engine.Multiply(false, x, b, wide) },
				"Multiply transposed":  func() { engine.Multiply(true, x, wide, c) },
			} {
				for range 20 { // until each lane and worker has its memory
					call()
				}
				// A collection empties pools, which is not of the calls' making.
				require.Less(t, testing.AllocsPerRun(50, call), 1.0, "%s of %s, %d columns", what, name, d)
			}
		}
	}
}
