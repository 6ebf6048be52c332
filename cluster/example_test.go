package cluster_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/algospec/algospec/cluster"
)

// An algorithm is tested on three hosts that are goroutines.
func ExampleLoopback() {
	hosts := cluster.Loopback(3)
	sums := make([][]float64, len(hosts))
	var wait sync.WaitGroup
	for rank := range hosts {
		sums[rank] = []float64{float64(rank), 1}
		wait.Go(func() {
			if err := hosts[rank].AllReduce(context.Background(), sums[rank]); err != nil {
				fmt.Println(err)
			}
		})
	}
	wait.Wait()
	fmt.Println(sums)
	// Output: [[3 3] [3 3] [3 3]]
}
