package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
)

// times are those of a run of the program.
type times struct{ silence, skew, cut time.Duration }

// loaded is how much longer than stated anything may take on a machine with other work.
const loaded = 30 * time.Second

// A trial is hosts that call a collective again and again, and something that happens to them.
type trial struct {
	name   string
	random bool
	size   int
	op     string
	times

	before func(l lab) error                       // the hosts start
	late   int                                     // the rank that starts later, -1 for none
	fault  func(l lab, processes []*process) error // once they all run; nil for none
	goesOn bool                                    // the hosts get over it, and end well
	limit  time.Duration                           // until when all have ended otherwise, or gone on
	either []int                                   // the ranks one of which all must name
	lost   int                                     // the rank that all others must name
	victim func(end string) error                  // what that one says itself, nil where it is gone
}

// try returns how long the hosts took to end after the fault.
func (t trial) try(l lab) (took time.Duration, err error) {
	if err := l.repair(); err != nil {
		return 0, err
	}
	if t.before == nil {
		t.before = func(l lab) error { return t.resolveAll(l) }
	}
	if err := t.before(l); err != nil {
		return 0, err
	}
	processes := make([]*process, t.size)
	defer func() {
		var logs strings.Builder
		for rank, p := range processes {
			if p != nil {
				p.end()
				fmt.Fprintf(&logs, "\n--- algo-%d\n%s", rank+1, &p.log)
			}
		}
		if err != nil {
			err = fmt.Errorf("%w%s", err, &logs)
		}
	}()
	start := func(rank int) (err error) {
		m := member{Rank: rank, Size: t.size, Op: t.op, Silence: t.silence, For: time.Hour, Secret: "secret"}
		if t.goesOn {
			m.For = 2 * t.silence
		}
		processes[rank], err = l.start(m)
		return err
	}
	for rank := range processes {
		if rank != t.late {
			if err := start(rank); err != nil {
				return 0, err
			}
		}
	}
	if t.late >= 0 {
		time.Sleep(t.skew) // being late is the point
		if err := start(t.late); err != nil {
			return 0, err
		}
	}
	for rank, p := range processes {
		if line, err := p.line(t.skew + loaded); err != nil || line != "runs" {
			return 0, fmt.Errorf("algo-%d does not run: %q, %v", rank+1, line, err)
		}
	}
	began := time.Now()
	if t.fault != nil {
		if err := t.fault(l, processes); err != nil {
			return 0, err
		}
	}
	err = t.ends(processes, began)
	return time.Since(began), err
}

func (t trial) resolveAll(l lab) error {
	for rank := range size {
		if err := l.resolve(rank, size); err != nil {
			return err
		}
	}
	return nil
}

// ends checks how all hosts come to their ends.
func (t trial) ends(processes []*process, began time.Time) error {
	var errs []error
	first := ""
	for rank, p := range processes {
		if rank == t.lost && !t.goesOn && t.victim == nil && t.either == nil {
			continue
		}
		line, err := p.line(t.limit + loaded)
		if err == nil {
			err = t.judge(rank, line)
			first = cmp.Or(first, line)
		}
		if err == nil && t.either != nil && line != first {
			err = fmt.Errorf("it says %q, and algo-1 %q", line, first)
		}
		if took := time.Since(began); err == nil && took > t.limit+loaded {
			err = fmt.Errorf("it took %v", took)
		}
		if err == nil {
			err = p.leaves(t.silence + loaded)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("algo-%d: %w", rank+1, err))
		}
	}
	return errors.Join(errs...)
}

func (t trial) judge(rank int, line string) error {
	switch {
	case t.either != nil:
		for _, lost := range t.either {
			if names(t.size)[lost] == lostBy(line) {
				return nil
			}
		}
	case t.goesOn && line == "end: <nil>":
		return nil
	case !t.goesOn && rank == t.lost:
		return t.victim(line)
	case !t.goesOn && lostBy(line) == names(t.size)[t.lost]:
		return nil
	}
	return fmt.Errorf("it says %q", line)
}

// lostBy returns the host that a line says is lost.
func lostBy(line string) string {
	rest, ok := strings.CutPrefix(line, "end: cluster: host ")
	host, _, found := strings.Cut(rest, " is lost: ")
	if !ok || !found {
		return ""
	}
	return host
}

// namesItself is what a host must say that is cut off from at least two others; from one, it cannot know.
func (t trial) namesItself(line string) error {
	if t.size == 2 && lostBy(line) != "" || lostBy(line) == names(t.size)[t.lost] {
		return nil
	}
	return fmt.Errorf("it says %q", line)
}

// trials are all that are not random.
func (t times) trials() (all []trial) {
	for rank := range 3 {
		for _, op := range operations {
			for _, fault := range []string{"kill", "stop", "cut"} {
				all = append(all, t.loss(fault, op, 3, rank, 0))
			}
		}
		for _, fault := range []string{"hears nothing", "is not heard", "half-open", "kill", "cut"} {
			all = append(all, t.loss(fault, "AllReduce", 4, rank+1, 0))
		}
		for _, fault := range []string{"hears nothing", "is not heard", "half-open"} {
			all = append(all, t.loss(fault, "AllReduce-small", 3, rank, 0))
		}
		all = append(all, t.cutForAWhile("AllReduce", 3, rank), t.cutForAWhile("Barrier", 3, rank), t.starts(rank), t.lateNames(rank))
	}
	for _, op := range operations {
		all = append(all, t.lossy(op, 3))
	}
	return append(all, t.loseEachOther())
}

func (t times) plain(name, op string, size int) trial {
	return trial{name: fmt.Sprintf("%s, %d hosts", name, size), size: size, op: op, times: t, late: -1, limit: 2 * t.silence}
}

// loss is a fault that a host does not come back from.
func (t times) loss(fault, op string, size, rank int, after time.Duration) trial {
	c := t.plain(fmt.Sprintf("%s: %s algo-%d", op, fault, rank+1), op, size)
	c.lost = rank
	c.fault = func(l lab, processes []*process) error {
		time.Sleep(after) // being at a random moment is the point
		return happen(l, fault, rank, c.size, processes[rank])
	}
	switch fault {
	case "kill":
		c.limit = 0
	case "cut", "hears nothing", "is not heard":
		c.victim = c.namesItself
	}
	return c
}

func happen(l lab, fault string, rank, size int, p *process) error {
	switch fault {
	case "kill":
		return p.cmd.Process.Kill()
	case "stop":
		return p.cmd.Process.Signal(syscall.SIGSTOP)
	case "cut":
		return l.cable(rank, "down")
	case "hears nothing":
		return l.drop(rank, "")
	case "is not heard":
		return l.mute(rank, size)
	case "half-open": // it ends, and nobody is told
		if err := errors.Join(l.mute(rank, size), l.drop(rank, "")); err != nil {
			return err
		}
		return p.cmd.Process.Kill()
	}
	return fmt.Errorf("no fault %q", fault)
}

// mute lets nobody get packets of a host.
func (l lab) mute(rank, size int) error {
	var errs []error
	for other := range size {
		if other != rank {
			errs = append(errs, l.drop(other, "ip saddr "+l.address(rank)))
		}
	}
	return errors.Join(errs...)
}

// cutForAWhile is a cable that is out for some seconds. When it is in again the kernel may take two or three more until
// packets come through.
func (t times) cutForAWhile(op string, size, rank int) trial {
	c := t.plain(fmt.Sprintf("%s: algo-%d cut off for %v", op, rank+1, t.cut), op, size)
	c.goesOn = true
	c.limit = 4 * t.silence
	c.fault = func(l lab, _ []*process) error {
		began := time.Now()
		if err := l.cable(rank, "down"); err != nil {
			return err
		}
		time.Sleep(t.cut)
		err := l.cable(rank, "up")
		if out := time.Since(began); out > t.cut+t.silence/10 {
			err = errors.Join(err, fmt.Errorf("no result: the cable was out for %v, on a busy machine", out))
		}
		return err
	}
	return c
}

// lossy is a network that loses one packet of twenty.
func (t times) lossy(op string, size int) trial {
	c := t.plain(op+": packets are lost", op, size)
	c.goesOn = true
	c.limit = 6 * t.silence
	c.before = func(l lab) error { return errors.Join(c.resolveAll(l), l.lose(size)) }
	return c
}

func (l lab) lose(size int) error {
	var errs []error
	for rank := range size {
		errs = append(errs, l.drop(rank, "numgen random mod 100 < 5"))
	}
	return errors.Join(errs...)
}

func (t times) starts(rank int) trial {
	c := t.plain(fmt.Sprintf("algo-%d starts %v late", rank+1, t.skew), "AllReduce", 3)
	c.late, c.goesOn, c.limit = rank, true, 4*t.silence
	return c
}

// lateNames is a host that can resolve no name at first.
func (t times) lateNames(rank int) trial {
	c := t.plain(fmt.Sprintf("names resolve %v late on algo-%d", t.skew, rank+1), "AllReduce", 3)
	c.goesOn, c.limit = true, 4*t.silence
	c.before = func(l lab) error {
		if err := c.resolveAll(l); err != nil {
			return err
		}
		time.AfterFunc(t.skew, func() { l.resolve(rank, size) })
		return l.resolve(rank, 0)
	}
	return c
}

// loseEachOther is two hosts that the leader hears and that do not hear each other: all name the same one.
func (t times) loseEachOther() trial {
	c := t.plain("algo-2 and algo-3 lose each other", "AllReduce", 4)
	c.either = []int{1, 2}
	c.fault = func(l lab, processes []*process) error {
		return errors.Join(l.drop(1, "ip saddr "+l.address(2)), l.drop(2, "ip saddr "+l.address(1)))
	}
	return c
}

// random is any number of hosts, any collective, and any fault at any moment.
func (t times) random(r *rand.Rand) trial {
	size, op := 2+r.IntN(size-1), operations[r.IntN(len(operations))]
	rank, after := r.IntN(size), time.Duration(r.IntN(300))*time.Millisecond
	faults := []string{"kill", "stop", "cut", "half-open", "for a while"}
	if size > 2 {
		faults = append(faults, "is not heard", "hears nothing") // of two, each may name the other
	}
	fault := faults[r.IntN(len(faults))]
	var c trial
	if fault == "for a while" {
		c = t.cutForAWhile(op, size, rank)
	} else {
		c = t.loss(fault, op, size, rank, after)
	}
	if r.IntN(3) == 0 && fault != "half-open" && fault != "is not heard" && fault != "hears nothing" {
		c.name += ", packets are lost"
		c.limit += 2 * t.silence
		c.before = func(l lab) error { return errors.Join(c.resolveAll(l), l.lose(size)) }
	}
	return c
}
