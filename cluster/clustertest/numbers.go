package clustertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/algospec/algospec/cluster"
)

var operations = []cluster.Op{cluster.Sum, cluster.Min, cluster.Max}

// random returns what the host of a rank brings: numbers whose sum depends on the order, where they are
// floats, and which every host can make for every other.
func random[T cluster.Number](rank, length, seed int) []T {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(rank)))
	x := make([]T, length)
	for i := range x {
		x[i] = T((r.Float64() - 0.5) * float64(int64(1)<<r.IntN(30)))
	}
	return x
}

// expected reduces what n hosts bring, in rank order.
func expected[T cluster.Number](op cluster.Op, n, length, seed int) []T {
	want := random[T](0, length, seed)
	for rank := 1; rank < n; rank++ {
		for i, x := range random[T](rank, length, seed) {
			switch op {
			case cluster.Sum:
				want[i] += x
			case cluster.Min:
				want[i] = min(want[i], x)
			case cluster.Max:
				want[i] = max(want[i], x)
			}
		}
	}
	return want
}

// same compares to the last bit; there are no NaNs.
func same[T cluster.Number](got, want []T) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d numbers, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("element %d of %d is %v, want %v", i, len(want), got[i], want[i])
		}
	}
	return nil
}

func reductions(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		return errors.Join(reductionsOf[float64](ctx, c), reductionsOf[float32](ctx, c), reductionsOf[int64](ctx, c))
	})
}

func reductionsOf[T cluster.Number](ctx context.Context, c *cluster.Cluster) error {
	for _, op := range operations {
		for seed, length := range []int{1, 1000, 4097, 3*32768 + 5} {
			x := random[T](c.Rank(), length, seed)
			if err := cluster.AllReduce(ctx, c, op, x); err != nil {
				return err
			}
			if err := same(x, expected[T](op, c.Size(), length, seed)); err != nil {
				return fmt.Errorf("%v of %T: %w", op, x, err)
			}
		}
	}
	return nil
}

func noOperation(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		if cluster.AllReduce(ctx, c, cluster.Op(3), []float64{1}) == nil {
			return errors.New("operation 3 is none, and works")
		}
		return c.Barrier(ctx) // nothing has happened
	})
}

func typedBroadcasts(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		return errors.Join(broadcastsOf[float32](ctx, c), broadcastsOf[int64](ctx, c))
	})
}

func broadcastsOf[T cluster.Number](ctx context.Context, c *cluster.Cluster) error {
	for root := range c.Size() {
		for seed, length := range []int{0, 1, 1000, 4097, 3*32768 + 5} {
			x := random[T](c.Rank(), length, seed)
			if err := cluster.Broadcast(ctx, c, root, x); err != nil {
				return err
			}
			if err := same(x, random[T](root, length, seed)); err != nil {
				return fmt.Errorf("from rank %d, %T: %w", root, x, err)
			}
		}
	}
	return nil
}

func shares(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		return errors.Join(sharesOf[float64](ctx, c), sharesOf[float32](ctx, c))
	})
}

func sharesOf[T cluster.Number](ctx context.Context, c *cluster.Cluster) error {
	for seed, length := range lengths {
		got, err := cluster.ReduceScatter(ctx, c, cluster.Sum, random[T](c.Rank(), length, seed))
		if err != nil {
			return err
		}
		from, to := 0, 0
		for rank := 0; rank <= c.Rank(); rank++ {
			from, to = to, to+length/c.Size()
			if rank < length%c.Size() {
				to++
			}
		}
		if err := same(got, expected[T](cluster.Sum, c.Size(), length, seed)[from:to]); err != nil {
			return fmt.Errorf("%d numbers: %w", length, err)
		}
	}
	return nil
}
