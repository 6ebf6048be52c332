// Rows runs whole training jobs on ever more rows of 50 features, RecordIO-protobuf that is made as it is read, each job in a
// process of its own, and prints time and peak memory: the one is to be linear in the rows, and the other constant. It fails
// where the memory is not.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/algospec/algospec/bench/internal/compare"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == "job" {
		err = job(ctx, os.Args[2:])
	} else {
		err = run(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// slack is how much more memory sixteen times the rows may take: what the garbage collector makes of it varies.
const slack = 24 << 20

func run(ctx context.Context) error {
	rows := flag.Int("rows", 1_000_000, "rows of the smallest job; the others have 4 and 16 times as many")
	rounds := flag.Int("rounds", 1, "rounds")
	flag.Parse()
	fmt.Printf("%s; %s\n\n", compare.Machine(), runtime.Version())
	fmt.Print("| algorithm | rows | seconds | for a million | of the processor, for a million | peak memory, MB |\n|---|---|---|---|---|---|\n")
	for _, a := range algorithms {
		var peaks []int64
		for _, times := range []int{1, 4, 16} {
			n := times * *rows
			var costs []cost
			for range *rounds {
				c, err := measure(ctx, a.name, n)
				if err != nil {
					return fmt.Errorf("%s, %d rows: %w", a.name, n, err)
				}
				costs = append(costs, c)
			}
			slices.SortFunc(costs, func(a, b cost) int { return int(a.clock - b.clock) })
			median, peak := costs[len(costs)/2], int64(0)
			for _, c := range costs {
				peak = max(peak, c.peak)
			}
			peaks = append(peaks, peak)
			million := float64(n) / 1e6
			fmt.Printf("| %s | %s | %.2f | %.2f | %.2f | %.0f |\n", a.name, compare.Count(float64(n)), median.clock.Seconds(),
				median.clock.Seconds()/million, median.cpu.Seconds()/million, float64(peak)/1e6)
		}
		if peaks[2] > peaks[0]+slack {
			return fmt.Errorf("%s: %d bytes at the peak for the most rows, and %d for the fewest", a.name, peaks[2], peaks[0])
		}
	}
	fmt.Printf("\nIn the end, %s\n", compare.Load())
	return nil
}

// A cost is what a job took, the start of its process with it.
type cost struct {
	clock, cpu time.Duration
	peak       int64 // bytes
}

func measure(ctx context.Context, algorithm string, rows int) (cost, error) {
	self, err := os.Executable()
	if err != nil {
		return cost{}, err
	}
	cmd := exec.CommandContext(ctx, self, "job", algorithm, strconv.Itoa(rows))
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, err
	}
	return cost{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak(cmd.ProcessState)}, nil
}
