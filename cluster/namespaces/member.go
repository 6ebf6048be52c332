package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/algospec/algospec/cluster"
)

// A member is a host, in a process of its own.
type member struct {
	Rank, Size int
	Op         string
	Silence    time.Duration
	For        time.Duration // how long the leader goes on
	Secret     string
}

func names(n int) (hosts []string) {
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("algo-%d", i+1))
	}
	return hosts
}

// run calls collectives until one fails or the leader has had enough, and prints what it came to.
func (m member) run() {
	c, err := cluster.New(cluster.Config{CurrentHost: names(m.Size)[m.Rank], Hosts: names(m.Size)}, cluster.Options{
		Job: "namespaces", Secret: m.Secret, Heartbeat: m.Silence / 5, Silence: m.Silence, Reminder: time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err == nil {
		err = m.repeat(&c)
	}
	fmt.Println("end:", err)
	began := time.Now()
	c.Close()
	fmt.Fprintln(os.Stderr, "closed after", time.Since(began))
}

func (m member) repeat(c *cluster.Cluster) error {
	ctx := context.Background()
	if err := c.Connect(ctx); err != nil {
		return err
	}
	began := time.Now()
	for n := int64(1); ; n++ {
		if err := collectives[m.Op](ctx, c, n); err != nil {
			return err
		}
		if n == 3 {
			fmt.Println("runs")
		}
		enough := []int64{0}
		if c.Leader() && time.Since(began) > m.For && n > 3 {
			enough[0] = 1
		}
		if err := cluster.AllReduce(ctx, c, cluster.Max, enough); err != nil {
			return err
		}
		if enough[0] == 1 {
			return nil
		}
	}
}

var operations = slices.Sorted(func(yield func(string) bool) {
	for op := range collectives {
		if !yield(op) {
			return
		}
	}
})

// collectives call one and check what comes out of it.
var collectives = map[string]func(ctx context.Context, c *cluster.Cluster, n int64) error{
	"Barrier": func(ctx context.Context, c *cluster.Cluster, n int64) error { return c.Barrier(ctx) },
	"Broadcast": func(ctx context.Context, c *cluster.Cluster, n int64) error {
		root := int(n) % c.Size()
		x := filled[float64](300_000, float64(c.Rank())+float64(n))
		if err := c.Broadcast(ctx, root, x); err != nil {
			return err
		}
		return check(x, float64(root)+float64(n))
	},
	"AllReduce": func(ctx context.Context, c *cluster.Cluster, n int64) error {
		x := filled[float32](1_000_001, float32(c.Rank()+1))
		if err := cluster.AllReduce(ctx, c, cluster.Sum, x); err != nil {
			return err
		}
		return check(x, float32(c.Size()*(c.Size()+1)/2))
	},
	"AllReduce-small": func(ctx context.Context, c *cluster.Cluster, n int64) error {
		x := filled(500, float64(c.Rank()+1))
		if err := c.AllReduce(ctx, x); err != nil {
			return err
		}
		return check(x, float64(c.Size()*(c.Size()+1)/2))
	},
	"ReduceScatter": func(ctx context.Context, c *cluster.Cluster, n int64) error {
		x, err := cluster.ReduceScatter(ctx, c, cluster.Sum, filled(300_000, n+int64(c.Rank())))
		if err != nil {
			return err
		}
		size := int64(c.Size())
		return check(x, size*n+size*(size-1)/2)
	},
	"Gather": func(ctx context.Context, c *cluster.Cluster, n int64) error {
		messages, err := c.Gather(ctx, slices.Repeat([]byte{byte(c.Rank())}, 300_000))
		return checkMessages(messages, err)
	},
	"AllGather": func(ctx context.Context, c *cluster.Cluster, n int64) error {
		messages, err := c.AllGather(ctx, slices.Repeat([]byte{byte(c.Rank())}, 300_000))
		return checkMessages(messages, err)
	},
}

func filled[T cluster.Number](length int, x T) []T { return slices.Repeat([]T{x}, length) }

func check[T cluster.Number](x []T, want T) error {
	for i := range x {
		if x[i] != want {
			return fmt.Errorf("WRONG: element %d is %v, want %v", i, x[i], want)
		}
	}
	return nil
}

func checkMessages(messages [][]byte, err error) error {
	for rank, message := range messages {
		if len(message) != 300_000 || slices.ContainsFunc(message, func(b byte) bool { return b != byte(rank) }) {
			return fmt.Errorf("WRONG: the message of rank %d", rank)
		}
	}
	return err
}
