// Package cluster is what the hosts of a training job know of each other: who they are, which of
// them leads, and how their sums are put together.
//
//	if err := job.Cluster.AllReduce(ctx, sums); err != nil {
//		return err
//	}
//
// The zero Cluster is one host, on which every collective is done at once, so that an algorithm
// has one form for one host and for many. [New] makes the Cluster of a host among several, which
// talks TCP, and [Loopback] one for tests, whose hosts are goroutines.
//
// # Collectives
//
// All hosts call the same collectives in the same order, each host from one goroutine at a time; a
// host whose call differs from the others' is an error on all of them. A collective that fails ends the
// cluster: a host that missed one sum must not add to the next. From then on all collectives return
// that first error. One whose context is done returns context.Cause(ctx), and fails for the others.
//
// A collective waits without limit for a host that lives. Numbers are reduced in rank order, so all hosts hold
// the same bits, on every run and every engine. AllReduce, Broadcast and ReduceScatter are functions of float64,
// float32 and int64; the methods of the same name are for float64.
//
// # Connections
//
// Over TCP every host is connected to every other. The first host of the list, the leader, listens where its
// name leads; the others dial it, and it tells them where each of them listens: names may not resolve for
// minutes after the start of a job, and hosts start at different times. That happens in Connect, or else in the
// first collective; a job with neither opens no port. An algorithm that reads for long before it first sums
// calls Connect first, so that no host waits out the others' reading. From then on every host tells every two
// seconds that it lives.
//
// Up to 16 KiB of numbers are put together by the leader, or by both of two hosts. Of more, each host owns a share:
// it gets the others' parts of it, piece by piece, and sends the sums to all while the next pieces are on their way, so
// that each host sends and receives twice the length, however many they are. A link holds 4 MiB at most.
//
// # Hosts that are lost
//
// A host is lost when its connection breaks, or when nothing came from it for ten seconds, or when it
// ended before a collective that others called. Then the collectives of all others fail with a
// [LostError] that names it: the leader's word counts where hosts lose each other, and within ten seconds more
// they go by what they know without it. A host that hears none of at least two others names itself. A cluster with a
// lost host is over; the platform starts the job again.
//
// # Strangers
//
// A handshake keeps hosts of other jobs and attempts out. With Options.Secret both ends of every connection
// prove that they know it, and with Options.TLS what they say is encrypted and signed; a secret alone keeps
// strangers from connecting, not from listening on the way or changing what is sent. Strangers who say nothing make room
// for who comes after them.
package cluster

import (
	"context"
	"fmt"
	"slices"
)

// A Cluster is one host's view of the hosts of its job. Copies share their connections.
type Cluster struct {
	rank   int
	size   int // 0 means 1
	engine engine
}

// An engine carries out collectives among several hosts.
type engine interface {
	connect(ctx context.Context) error
	do(ctx context.Context, c call) (gathered [][]byte, err error)
	close()
}

// New returns the view that c.CurrentHost has; a Config without hosts is one host. It is an error
// where the hosts do not include the current one, or one of them twice. New connects to nobody.
func New(c Config, opts Options) (Cluster, error) {
	if len(c.Hosts) == 0 {
		return Cluster{}, nil
	}
	rank := slices.Index(c.Hosts, c.CurrentHost)
	if rank < 0 {
		return Cluster{}, fmt.Errorf("cluster: current host %q is not among the hosts %q", c.CurrentHost, c.Hosts)
	}
	for i, host := range c.Hosts {
		if slices.Contains(c.Hosts[:i], host) {
			return Cluster{}, fmt.Errorf("cluster: host %q is twice among the hosts %q", host, c.Hosts)
		}
	}
	if len(c.Hosts) == 1 {
		return Cluster{}, nil
	}
	return Cluster{rank: rank, size: len(c.Hosts), engine: newMesh(c.Hosts, rank, opts)}, nil
}

// Rank returns this host's index in the job's list of hosts, from 0.
func (c *Cluster) Rank() int { return c.rank }

// Size returns the number of hosts.
func (c *Cluster) Size() int { return max(1, c.size) }

// Leader reports whether this host is the first in the job's list.
func (c *Cluster) Leader() bool { return c.rank == 0 }

// Connect waits until all hosts are connected, as the first collective would. When not all of them
// came in time, the error lists the missing ones.
func (c *Cluster) Connect(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.engine == nil {
		return nil
	}
	return c.engine.connect(ctx)
}

// Barrier waits until all hosts have called it.
func (c *Cluster) Barrier(ctx context.Context) error {
	_, err := c.do(ctx, call{op: barrier})
	return err
}

// Broadcast is the function [Broadcast] of float64.
func (c *Cluster) Broadcast(ctx context.Context, root int, x []float64) error {
	return Broadcast(ctx, c, root, x)
}

// AllReduce replaces x, on every host, by the sum of all hosts' x: the function [AllReduce] of float64.
func (c *Cluster) AllReduce(ctx context.Context, x []float64) error {
	return AllReduce(ctx, c, Sum, x)
}

// Gather returns, on the leader, what every host called it with, by rank; elsewhere nil. Messages
// may differ in length, and are at most 1 GiB long. The leader's own is not copied.
func (c *Cluster) Gather(ctx context.Context, message []byte) ([][]byte, error) {
	return c.gather(ctx, call{op: gather, message: message})
}

// AllGather returns, on every host, what every host called it with, as Gather does on the leader.
func (c *Cluster) AllGather(ctx context.Context, message []byte) ([][]byte, error) {
	return c.gather(ctx, call{op: allGather, message: message})
}

func (c *Cluster) gather(ctx context.Context, call call) ([][]byte, error) {
	if len(call.message) > messageLimit {
		return nil, fmt.Errorf("cluster: %v of %d bytes, more than %d", call.op, len(call.message), messageLimit)
	}
	return c.do(ctx, call)
}

func (c *Cluster) do(ctx context.Context, call call) ([][]byte, error) {
	switch {
	case c.engine != nil:
		return c.engine.do(ctx, call)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case call.op.gathers():
		return [][]byte{call.message}, nil
	}
	return nil, nil
}

// Close tells the other hosts that this one has ended, and returns when all connections and goroutines of the
// Cluster are gone. It waits for hosts that have not yet got what was sent to them, for Options.Silence at most:
// algospec.Run does it. It may be
// called more than once; a collective that is under way fails.
func (c *Cluster) Close() {
	if c.engine != nil {
		c.engine.close()
	}
}
