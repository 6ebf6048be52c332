// Program namespaces puts the hosts of a cluster into network namespaces and lets happen to them what happens to
// hosts. It prints a line for each case, and the seeds of random ones; run is how to start it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"time"
)

func main() {
	text := flag.String("member", "", "for the program's own use")
	full := flag.Bool("full", false, "the default times of a cluster, and starts that differ by 60 s")
	seed := flag.Uint64("seed", 0, "repeat one random schedule")
	random := flag.Int("random", 100, "how many random schedules")
	labs := flag.Int("labs", 3, "how many cases at a time")
	run := flag.String("run", "", "only the cases that match a regular expression")
	flag.Parse()
	if *text != "" {
		var m member
		if err := json.Unmarshal([]byte(*text), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		m.run()
		return
	}
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "namespaces: must be root")
		os.Exit(2)
	}
	t := times{silence: 5 * time.Second, skew: 8 * time.Second, cut: 1500 * time.Millisecond}
	if *full {
		t = times{silence: 10 * time.Second, skew: time.Minute, cut: 5 * time.Second}
	}
	only, err := regexp.Compile(*run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var selected []trial
	for _, c := range append(t.trials(), t.schedules(*random, *seed)...) {
		if only.MatchString(c.name) && (*seed == 0 || c.random) {
			selected = append(selected, c)
		}
	}
	if err := runAll(selected, *labs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runAll runs the trials in so many labs.
func runAll(trials []trial, n int) error {
	queue := make(chan trial)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer close(queue)
		for _, t := range trials {
			select {
			case queue <- t:
			case <-interrupted:
				fmt.Println("interrupted")
				return
			}
		}
	}()
	var (
		mu     sync.Mutex
		failed int
		done   int
		all    sync.WaitGroup
	)
	for i := range n {
		l := lab{fmt.Sprintf("lab%d-%d", os.Getpid(), i)}
		l.remove()
		defer l.remove()
		if err := l.build(); err != nil {
			return err
		}
		all.Go(func() {
			for t := range queue {
				took, err := t.try(l)
				mu.Lock()
				done++
				if err != nil {
					failed++
					fmt.Printf("FAIL %s: %v\n", t.name, err)
				} else {
					fmt.Printf("ok   %s (%v)\n", t.name, took.Round(10*time.Millisecond))
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	fmt.Printf("%d of %d cases, %d failed\n", done, len(trials), failed)
	if failed > 0 || done < len(trials) {
		return fmt.Errorf("namespaces: %d failed, %d did not run", failed, len(trials)-done)
	}
	return nil
}

// schedules are random trials.
func (t times) schedules(n int, seed uint64) (schedules []trial) {
	seeds := []uint64{seed}
	if seed == 0 {
		seeds = nil
		for range n {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, seed := range seeds {
		c := t.random(rand.New(rand.NewPCG(seed, 0)))
		c.name = fmt.Sprintf("seed %d: %s", seed, c.name)
		c.random = true
		schedules = append(schedules, c)
	}
	return schedules
}
