// Package clustertest checks that the hosts of a cluster keep the contract of package cluster,
// whatever connects them.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/algospec/algospec/cluster"
)

// TestCluster puts clusters of three hosts, algo-1 to algo-3, through every collective and returns
// an error that says where they fall short. Each call of start must return new hosts, by rank;
// TestCluster closes them.
func TestCluster(ctx context.Context, start func() []cluster.Cluster) error {
	var errs []error
	for _, check := range checks {
		hosts := start()
		err := check.run(ctx, hosts)
		for i := range hosts {
			hosts[i].Close()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", check.name, err))
		}
	}
	return errors.Join(errs...)
}

// A check uses up a cluster.
type check struct {
	name string
	run  func(ctx context.Context, hosts []cluster.Cluster) error
}

var checks = []check{
	{"rank and size", identity},
	{"sums of any length", sums},
	{"sums in rank order, to the bit", rankOrder},
	{"sums, minima and maxima of all types", reductions},
	{"an operation that is none", noOperation},
	{"broadcast from each rank", broadcasts},
	{"broadcast of all types", typedBroadcasts},
	{"each host's share of the sums", shares},
	{"gather", gathers},
	{"gather on all", allGathers},
	{"a barrier waits for all", barriers},
	{"many collectives in a row", inARow},
	{"hosts that end after the last collective", endsWell},
	{"different lengths", differentLengths},
	{"different collectives", differentCollectives},
	{"different roots", differentRoots},
	{"different types", differentTypes},
	{"different operations", differentOperations},
	{"two ways of gathering", differentGathers},
	{"a host ended early", endedEarly},
	{"a cancelled host", cancelled},
	{"closed while a collective waits", closedMeanwhile},
	{"closed by one goroutine while another's collective waits", closedUnderWay},
	{"a second collective at the same time", twoAtOnce},
}

// each calls f for every host at once and returns the errors by rank.
func each(hosts []cluster.Cluster, f func(c *cluster.Cluster) error) []error {
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i := range hosts {
		all.Go(func() { errs[i] = f(&hosts[i]) })
	}
	all.Wait()
	return errs
}

// every is each where all must succeed.
func every(hosts []cluster.Cluster, f func(c *cluster.Cluster) error) error {
	for rank, err := range each(hosts, f) {
		if err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return nil
}

func identity(_ context.Context, hosts []cluster.Cluster) error {
	for rank := range hosts {
		c := &hosts[rank]
		if c.Rank() != rank || c.Size() != 3 || c.Leader() != (rank == 0) {
			return fmt.Errorf("host %d has rank %d of %d", rank, c.Rank(), c.Size())
		}
	}
	return nil
}

// lengths surround the sizes in which an engine may cut, whole or three ways, and a few messages in flight.
var lengths = []int{0, 1, 2, 3, 4, 1000, 2048, 2049, 8192, 8193, 3 * 16384, 3*16384 + 1, 8192*40 + 17}

// longest is more than a few messages in flight on every way.
const longest = 3*16384*40 + 17

// value is element i of what a host brings to collective n.
func value(rank, i, n int) float64 { return float64((rank+1)*(i%1013) + n) }

func sums(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		for n, length := range append([]int{longest}, lengths...) {
			x := make([]float64, length)
			for i := range x {
				x[i] = value(c.Rank(), i, n)
			}
			if err := c.AllReduce(ctx, x); err != nil {
				return err
			}
			for i := range x {
				if want := value(0, i, n) + value(1, i, n) + value(2, i, n); x[i] != want {
					return fmt.Errorf("%d numbers: element %d is %v, want %v", length, i, x[i], want)
				}
			}
		}
		return nil
	})
}

// rankOrder sums numbers whose sum depends on the order.
func rankOrder(ctx context.Context, hosts []cluster.Cluster) error {
	parts := []float64{1, 0x1p-53, 0x1p-53} // (1 + tiny) + tiny is 1, 1 + (tiny + tiny) is not
	negativeZero := math.Copysign(0, -1)
	return every(hosts, func(c *cluster.Cluster) error {
		x := []float64{parts[c.Rank()], parts[2-c.Rank()], negativeZero, math.Inf(1), math.NaN()}
		if err := c.AllReduce(ctx, x); err != nil {
			return err
		}
		want := []float64{1, 1 + 0x1p-52, negativeZero, math.Inf(1)}
		for i := range want {
			if math.Float64bits(x[i]) != math.Float64bits(want[i]) {
				return fmt.Errorf("element %d is %v, want %v", i, x[i], want[i])
			}
		}
		if !math.IsNaN(x[4]) {
			return fmt.Errorf("a NaN became %v", x[4])
		}
		return nil
	})
}

func broadcasts(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		if err := c.Broadcast(ctx, 3, nil); err == nil {
			return errors.New("rank 3 of 3 may broadcast")
		}
		for root := range 3 {
			for n, length := range lengths {
				x := make([]float64, length)
				for i := range x {
					x[i] = value(c.Rank(), i, n)
				}
				if err := c.Broadcast(ctx, root, x); err != nil {
					return err
				}
				for i := range x {
					if want := value(root, i, n); x[i] != want {
						return fmt.Errorf("%d numbers from %d: element %d is %v, want %v", length, root, i, x[i], want)
					}
				}
			}
		}
		return nil
	})
}

// message is what the host of a rank brings to a gather: the leader nothing.
func message(rank, n int) string { return strings.Repeat(string(rune('a'+rank)), rank*n) }

var messageLengths = []int{0, 1, 100, 32768, 65536, 131072, 3_000_001}

func allGathers(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		for _, n := range messageLengths {
			got, err := c.AllGather(ctx, []byte(message(c.Rank(), n)))
			if err != nil {
				return err
			}
			if len(got) != 3 {
				return fmt.Errorf("got %d messages", len(got))
			}
			for rank := range got {
				if string(got[rank]) != message(rank, n) {
					return fmt.Errorf("the message of rank %d has %d bytes", rank, len(got[rank]))
				}
				clear(got[rank]) // is this host's alone
			}
		}
		return nil
	})
}

func differentGathers(ctx context.Context, hosts []cluster.Cluster) error {
	errs := each(hosts, func(c *cluster.Cluster) (err error) {
		if c.Rank() == 2 {
			_, err = c.AllGather(ctx, make([]byte, 5<<20))
		} else {
			_, err = c.Gather(ctx, make([]byte, 5<<20))
		}
		return err
	})
	return allSay(ctx, hosts, errs, "cluster: collective 1: host algo-3 calls AllGather, host algo-1 Gather")
}

func gathers(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		for _, n := range messageLengths {
			got, err := c.Gather(ctx, []byte(message(c.Rank(), n)))
			if err != nil {
				return err
			}
			if !c.Leader() {
				if got != nil {
					return errors.New("a host other than the leader got something")
				}
				continue
			}
			if len(got) != 3 {
				return fmt.Errorf("the leader got %d messages", len(got))
			}
			for rank := range got {
				if string(got[rank]) != message(rank, n) {
					return fmt.Errorf("the message of rank %d has %d bytes", rank, len(got[rank]))
				}
			}
		}
		return nil
	})
}

func barriers(ctx context.Context, hosts []cluster.Cluster) error {
	var mu sync.Mutex
	came := 0
	return every(hosts, func(c *cluster.Cluster) error {
		for round := range 20 {
			mu.Lock()
			came++
			mu.Unlock()
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			mu.Lock()
			seen := came
			mu.Unlock()
			if seen < 3*(round+1) {
				return fmt.Errorf("barrier %d opened when %d had come", round, seen)
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func inARow(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		total := []float64{0}
		for n := range 200 {
			x := []float64{float64(c.Rank() + n)}
			if err := c.AllReduce(ctx, x); err != nil {
				return err
			}
			if err := c.Broadcast(ctx, n%3, total); err != nil {
				return err
			}
			total[0] += x[0]
		}
		if want := 200.0*3 + 3*199*200/2; total[0] != want {
			return fmt.Errorf("the sum of sums is %v, want %v", total[0], want)
		}
		return nil
	})
}

func endsWell(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		defer c.Close() // while others may still be on their way out of the collective
		x := make([]float64, 100_000)
		x[99_999] = 1
		if err := c.AllReduce(ctx, x); err != nil {
			return err
		}
		if x[99_999] != 3 {
			return fmt.Errorf("the sum is %v, want 3", x[99_999])
		}
		return nil
	})
}

// allSay checks that all hosts have the same error, and that no collective works afterwards.
func allSay(ctx context.Context, hosts []cluster.Cluster, errs []error, want string) error {
	for rank, err := range errs {
		if err == nil || err.Error() != want {
			return fmt.Errorf("rank %d: got %v, want %s", rank, err, want)
		}
		if again := hosts[rank].Barrier(ctx); again == nil {
			return fmt.Errorf("rank %d: a collective works after a failed one", rank)
		}
	}
	return nil
}

func differentLengths(ctx context.Context, hosts []cluster.Cluster) error {
	if err := every(hosts, func(c *cluster.Cluster) error { return c.Barrier(ctx) }); err != nil {
		return err
	}
	errs := each(hosts, func(c *cluster.Cluster) error {
		return c.AllReduce(ctx, make([]float64, []int{200_000, 200_000, 7}[c.Rank()]))
	})
	return allSay(ctx, hosts, errs, "cluster: collective 2: AllReduce: host algo-3 has 7 numbers, host algo-1 200000")
}

func differentCollectives(ctx context.Context, hosts []cluster.Cluster) error {
	errs := each(hosts, func(c *cluster.Cluster) error {
		if c.Rank() == 1 {
			_, err := c.Gather(ctx, make([]byte, 1<<20))
			return err
		}
		return c.AllReduce(ctx, make([]float64, 100_000))
	})
	return allSay(ctx, hosts, errs, "cluster: collective 1: host algo-2 calls Gather, host algo-1 AllReduce")
}

func differentRoots(ctx context.Context, hosts []cluster.Cluster) error {
	errs := each(hosts, func(c *cluster.Cluster) error {
		return c.Broadcast(ctx, min(1, c.Rank()), make([]float64, 3))
	})
	return allSay(ctx, hosts, errs, "cluster: collective 1: Broadcast: host algo-2 expects it from rank 1, host algo-1 from 0")
}

func differentTypes(ctx context.Context, hosts []cluster.Cluster) error {
	errs := each(hosts, func(c *cluster.Cluster) error {
		if c.Rank() == 2 {
			return cluster.AllReduce(ctx, c, cluster.Sum, make([]int64, 100_000))
		}
		return cluster.AllReduce(ctx, c, cluster.Sum, make([]float64, 100_000))
	})
	return allSay(ctx, hosts, errs, "cluster: collective 1: AllReduce: host algo-3 has int64, host algo-1 float64")
}

func differentOperations(ctx context.Context, hosts []cluster.Cluster) error {
	errs := each(hosts, func(c *cluster.Cluster) error {
		return cluster.AllReduce(ctx, c, []cluster.Op{cluster.Sum, cluster.Sum, cluster.Max}[c.Rank()], []float32{1})
	})
	return allSay(ctx, hosts, errs, "cluster: collective 1: AllReduce: host algo-3 asks for the Max, host algo-1 for the Sum")
}

// lostHost checks that the error is a LostError of the host.
func lostHost(err error, host string) error {
	lost, ok := errors.AsType[*cluster.LostError](err)
	if !ok || lost.Host != host || !strings.HasPrefix(err.Error(), "cluster: host "+host+" is lost: ") {
		return fmt.Errorf("got %v, want the loss of %s", err, host)
	}
	return nil
}

func endedEarly(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		if c.Rank() == 1 {
			c.Close()
			return nil
		}
		if err := lostHost(c.AllReduce(ctx, make([]float64, 10)), "algo-2"); err != nil {
			return err
		}
		return lostHost(c.Barrier(ctx), "algo-2")
	})
}

func cancelled(ctx context.Context, hosts []cluster.Cluster) error {
	gone := make(chan struct{})
	return every(hosts, func(c *cluster.Cluster) error {
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		switch c.Rank() {
		case 1:
			defer close(gone)
			return cancelledCall(ctx, c)
		case 2:
			<-gone // and so lets the others wait
		}
		return lostHost(c.AllReduce(ctx, make([]float64, 1<<20)), "algo-2")
	})
}

func cancelledCall(ctx context.Context, c *cluster.Cluster) error {
	why := errors.New("this is why")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(10*time.Millisecond, func() { cancel(why) }).Stop()
	if err := c.AllReduce(ctx, make([]float64, 1<<20)); err != why {
		return fmt.Errorf("got %v, want the cause", err)
	}
	if err := c.AllReduce(ctx, nil); err != why {
		return fmt.Errorf("once cancelled: got %v, want the cause", err)
	}
	if c.Barrier(context.WithoutCancel(ctx)) == nil {
		return errors.New("a collective works after a cancelled one")
	}
	return nil
}

func closedMeanwhile(ctx context.Context, hosts []cluster.Cluster) error {
	return every(hosts, func(c *cluster.Cluster) error {
		if c.Rank() != 1 {
			return lostHost(c.Barrier(ctx), "algo-2")
		}
		if err := c.Connect(ctx); err != nil {
			return err
		}
		c.Close()
		c.Close()
		if c.Barrier(ctx) == nil {
			return errors.New("a collective works on a closed host")
		}
		return nil
	})
}

func closedUnderWay(ctx context.Context, hosts []cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := every(hosts, func(c *cluster.Cluster) error { return c.Barrier(ctx) }); err != nil {
		return err
	}
	const closed = "cluster: closed"
	under := make(chan error, 1)
	go func() { under <- hosts[0].Barrier(ctx) }()
	time.Sleep(10 * time.Millisecond) // until it most likely waits; the outcome is the same where it does not
	hosts[0].Close()
	if err := <-under; err == nil || err.Error() != closed {
		return fmt.Errorf("under way: got %v, want %s", err, closed)
	}
	if err := hosts[0].Barrier(ctx); err == nil || err.Error() != closed {
		return fmt.Errorf("afterwards: got %v, want %s", err, closed)
	}
	return lostHost(hosts[1].Barrier(ctx), "algo-1")
}

func twoAtOnce(ctx context.Context, hosts []cluster.Cluster) error {
	first, second := make(chan error, 1), make(chan error, 1)
	for _, result := range []chan error{first, second} {
		go func() { result <- hosts[0].Barrier(ctx) }()
	}
	var refused, other error
	select { // the one that came second does not wait
	case refused = <-first:
		first, second = second, first
	case refused = <-second:
	}
	if refused == nil {
		return errors.New("a barrier opened for one host")
	}
	if err := every(hosts[1:], func(c *cluster.Cluster) error { return c.Barrier(ctx) }); err != nil {
		return err
	}
	if other = <-first; other != nil {
		return fmt.Errorf("the first call: %w", other)
	}
	return nil
}
