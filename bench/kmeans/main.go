// Kmeans compares k-means with scikit-learn's and faiss's in one run: one pass of mini-batches, and Lloyd's algorithm
// for a fixed number of iterations, on float32 rows in memory; and end to end, from a file of RecordIO-protobuf to the
// centers. All begin with the same centers, the first rows, have the same number of threads, and are judged by the mean
// squared distance of the same rows to their centers. It also tells how much of the time of two hosts is communication.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/bench/internal/compare"
	"github.com/algospec/algospec/bench/internal/datasets"
	"github.com/algospec/algospec/bench/internal/peers"
)

//go:embed functions.py
var functions []byte

func main() {
	if len(os.Args) > 1 && os.Args[1] == "host" {
		if err := host(context.Background(), os.Args[2:]); err != nil {
			log.Fatalf("host: %v", err)
		}
		return
	}
	peers.Main(functions, run)
}

const (
	batchRows  = 5000 // the original's default
	iterations = 5    // of Lloyd's algorithm, and one more assignment
	judged     = 20000
	tolerance  = 0.01 // of the mean squared distance, where both sides take the same steps
)

func run(ctx context.Context, s *peers.Setup) error {
	fmt.Printf("\nEngine: %s. Mini-batches of %d rows; %d iterations of Lloyd's algorithm.\n", engine.Name(), batchRows, iterations)
	compare.Header(os.Stdout, "rows", "mean squared distance, to ours")
	for _, size := range []struct{ rows, columns int }{{1e6, 50}, {60e3, 784}} {
		b := bench{Setup: s, data: datasets.Blobs(s.Rows(size.rows), size.columns, 1)}
		if err := b.prepare(); err != nil {
			return err
		}
		for _, k := range []int{10, 100, 500} {
			for _, c := range []study{b.epoch(k), b.lloyd(k), b.fromRecords(k)} {
				if !strings.Contains(c.Name, s.Only) {
					continue
				}
				if err := c.Run(ctx, s.Rounds); err != nil {
					return err
				}
				if err := c.check(); err != nil {
					return err
				}
				c.Print(os.Stdout)
			}
		}
	}
	return communication(ctx, s)
}

// A bench is the comparison on one table.
type bench struct {
	*peers.Setup
	data                *datasets.Table
	dir, path, recorded string
}

func (b *bench) prepare() error {
	b.dir = filepath.Join(b.Dir, fmt.Sprint(b.data.Cols()))
	b.path, b.recorded = filepath.Join(b.dir, "x"), filepath.Join(b.dir, "rows.pbr")
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	if err := b.data.SaveNumbers(b.dir); err != nil {
		return err
	}
	return b.data.SaveRecords(b.recorded)
}

// A study is a case, and what its sides have found: mean squared distances.
type study struct {
	compare.Case
	found []*float64
	alike bool // all take the same steps
}

func (b *bench) study(name string, k int, alike bool) study {
	return study{Case: compare.Case{Name: fmt.Sprintf("%s, k=%d, %s", b.data.Name, k, name), Work: float64(b.data.Rows())}, alike: alike}
}

// ours adds a side of ours.
func (s *study) ours(name string, fit func(context.Context) (centers, error), judge func(centers) float64) {
	found := new(float64)
	s.found = append(s.found, found)
	s.Sides = append(s.Sides, compare.Side{Name: name, Run: func(ctx context.Context) (compare.Cost, error) {
		var c centers
		cost, err := compare.Time(func() (err error) {
			c, err = fit(ctx)
			return err
		})
		if err == nil {
			*found = judge(c)
		}
		return cost, err
	}})
}

// peer adds a side of Python's.
func (s *study) peer(p *peers.Python, name, function string, args peers.Args) {
	found := new(float64)
	s.found = append(s.found, found)
	s.Sides = append(s.Sides, p.Side(name, function, args, found))
}

// check notes what the sides have found, and fails where that is not what it must be.
func (s *study) check() error {
	ours := *s.found[0]
	for i, side := range s.Sides {
		ratio := *s.found[i] / ours
		if !(*s.found[i] > 0) || s.alike && !(math.Abs(ratio-1) <= tolerance) {
			return fmt.Errorf("%s, %s: a mean squared distance of %g where ours is %g", s.Name, side.Name, *s.found[i], ours)
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%.4f", ratio))
	}
	return nil
}

func (b *bench) args(k int, more peers.Args) peers.Args {
	args := peers.Args{"path": b.path, "columns": b.data.Cols(), "k": k, "judged": judged}
	for name, value := range more {
		args[name] = value
	}
	return args
}

func (b *bench) epoch(k int) study {
	s := b.study("one pass of mini-batches", k, true)
	s.ours("ours", func(context.Context) (centers, error) { return b.fitEpoch(k), nil }, b.judge)
	s.peer(b.Python, "MiniBatchKMeans.partial_fit", "epoch", b.args(k, peers.Args{"batch": batchRows}))
	return s
}

func (b *bench) lloyd(k int) study {
	s := b.study("Lloyd", k, true)
	s.ours("ours", func(context.Context) (centers, error) { return b.fitLloyd(k), nil }, b.judge)
	s.peer(b.Python, "KMeans(lloyd)", "lloyd", b.args(k, peers.Args{"iterations": iterations}))
	s.peer(b.Python, "faiss.Kmeans", "by_faiss", b.args(k, peers.Args{"iterations": iterations}))
	return s
}

func (b *bench) fromRecords(k int) study {
	s := b.study("one pass from RecordIO-protobuf", k, false)
	s.ours("ours, a whole job, extra_center_factor=1", func(ctx context.Context) (centers, error) { return b.train(ctx, k, 1) }, b.judge)
	if k < 500 {
		s.ours("ours, a whole job, extra_center_factor=10", func(ctx context.Context) (centers, error) { return b.train(ctx, k, 10) }, b.judge)
	}
	for _, reader := range b.Readers() {
		s.peer(b.Python, reader.Name+" and MiniBatchKMeans", "from_records", b.args(k, peers.Args{"path": b.recorded, "batch": batchRows, "reader": reader.Function}))
	}
	return s
}
