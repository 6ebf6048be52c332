// Package compare runs what is compared in turn, and prints what it took and the ratios.
//
// All sides take their turn in each round, so that a machine that is busy for a while is so for all of them. A
// ratio is of two runs of the same round; the table has its median over the rounds, with minimum and maximum.
// Next to the clock stands the processor's time, of all threads, which other programs disturb less.
package compare

import (
	"context"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"
)

// A Cost is what one run took.
type Cost struct {
	Seconds float64 `json:"seconds"` // by the clock
	CPU     float64 `json:"cpu"`     // seconds of the processor, all threads
}

// A Side is one of those that are compared.
type Side struct {
	Name string
	Run  func(context.Context) (Cost, error)
}

// Rounds is how often to compare.
type Rounds struct {
	N    int  // rounds that count
	Cold bool // without one round before, which does not count
}

// A Case is what the sides do.
type Case struct {
	Name  string
	Work  float64  // how much it is, such as rows; 0 leaves its column out
	Sides []Side   // ours first
	Notes []string // of each side, what it has found
	costs [][]Cost
}

// Run has all sides take their turn in each round.
func (c *Case) Run(ctx context.Context, r Rounds) error {
	c.costs = make([][]Cost, len(c.Sides))
	warm := 1
	if r.Cold {
		warm = 0
	}
	for round := range warm + r.N {
		for i, side := range c.Sides {
			cost, err := side.Run(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.Name, side.Name, err)
			}
			if round >= warm {
				c.costs[i] = append(c.costs[i], cost)
			}
		}
	}
	return nil
}

// Header begins a table of Cases: work names what there is so much of in a second, such as rows, and note what
// the Notes are.
func Header(w io.Writer, work, note string) {
	fmt.Fprintf(w, "\n| case | who | seconds | of the processor | %s/s | ours is faster: by the clock | by the processor | %s |\n|---|---|---|---|---|---|---|---|\n", work, note)
}

// Print prints the rows of the table.
func (c *Case) Print(w io.Writer) {
	for i, side := range c.Sides {
		clock, cpu := column(c.costs[i], seconds), column(c.costs[i], processor)
		rate := ""
		if c.Work > 0 {
			rate = Count(c.Work / median(clock))
		}
		byClock, byCPU := "1", "1"
		if i > 0 {
			byClock, byCPU = spread("%.2f", ratios(c.costs[i], c.costs[0], seconds)), spread("%.2f", ratios(c.costs[i], c.costs[0], processor))
		}
		note := ""
		if i < len(c.Notes) {
			note = c.Notes[i]
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", c.Name, side.Name, spread("%.3g", clock), spread("%.3g", cpu), rate, byClock, byCPU, note)
	}
}

// Median returns the median cost of a side.
func (c *Case) Median(side int) Cost {
	return Cost{median(column(c.costs[side], seconds)), median(column(c.costs[side], processor))}
}

func seconds(c Cost) float64   { return c.Seconds }
func processor(c Cost) float64 { return c.CPU }

func column(costs []Cost, of func(Cost) float64) []float64 {
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	return values
}

// ratios are those of the same rounds.
func ratios(theirs, ours []Cost, of func(Cost) float64) []float64 {
	values := make([]float64, len(ours))
	for i := range ours {
		values[i] = of(theirs[i]) / of(ours[i])
	}
	return values
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[len(v)/2]
}

// spread is the median, with minimum and maximum where there are several.
func spread(format string, values []float64) string {
	text := fmt.Sprintf(format, median(values))
	if len(values) == 1 {
		return text
	}
	return fmt.Sprintf("%s ("+format+" to "+format+")", text, slices.Min(values), slices.Max(values))
}

// Count writes a number with three digits and a unit.
func Count(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.3g M", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.3g k", x/1e3)
	}
	return fmt.Sprintf("%.3g", x)
}

// Time runs f in this process and returns what it took, the garbage collector's part with it.
func Time(f func() error) (Cost, error) {
	began, before := time.Now(), CPU()
	err := f()
	return Cost{time.Since(began).Seconds(), CPU() - before}, err
}

// CPU returns the seconds of the processor that this process has had.
func CPU() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // no address or number that it could refuse
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
