// Package cluster is what the hosts of a training job know of each other: who they are, which of
// them leads, and how their sums are put together.
//
// The zero Cluster is one host, on which every collective is done at once, so that an algorithm
// has one form for one host and for many. Collectives over several hosts need an engine; this
// version has none, and a collective on such a cluster says so.
package cluster

import (
	"context"
	"fmt"
	"slices"
)

// A Cluster is one host's view of the hosts of its job.
type Cluster struct {
	rank int
	size int // 0 means 1
}

// New returns the view that c.CurrentHost has; a Config without hosts is
// one host. It is an error where the hosts do not include the current one.
func New(c Config) (Cluster, error) {
	if len(c.Hosts) == 0 {
		return Cluster{}, nil
	}
	rank := slices.Index(c.Hosts, c.CurrentHost)
	if rank < 0 {
		return Cluster{}, fmt.Errorf("cluster: current host %q is not among the hosts %q", c.CurrentHost, c.Hosts)
	}
	return Cluster{rank: rank, size: len(c.Hosts)}, nil
}

// Rank returns this host's index in the job's list of hosts, from 0.
func (c *Cluster) Rank() int { return c.rank }

// Size returns the number of hosts.
func (c *Cluster) Size() int { return max(1, c.size) }

// Leader reports whether this host is the first in the job's list.
func (c *Cluster) Leader() bool { return c.rank == 0 }

// AllReduce replaces x, on every host, by the sum of all hosts' x, element by element and added in
// rank order, so that all hosts hold the same bits. Lengths must be equal. It returns
// context.Cause(ctx) once ctx is done.
func (c *Cluster) AllReduce(ctx context.Context, x []float64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.Size() == 1 {
		return nil
	}
	return fmt.Errorf("cluster: %d hosts, and no engine to sum %d numbers over them: run the job on one host", c.Size(), len(x))
}
