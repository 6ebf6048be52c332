package compute_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/compute/computetest"
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
			computetest.Test(t, engine)
			computetest.TestThreads(t, func(threads int) compute.Engine {
				engine, err := compute.CPU(compute.Options{Kernels: name, Threads: threads})
				require.NoError(t, err)
				return engine
			})
		})
	}
}
