// Linearlearner compares the linear learner with scikit-learn's linear models in one run: a pass over float32 rows in memory,
// with one model and with 32 at once, against SGDClassifier and SGDRegressor; the time to the same loss against
// LogisticRegression(saga); and end to end, from a file of RecordIO-protobuf to a model and its scores. It also tells the records
// a second of jobs like those whose logs are public.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/bench/internal/compare"
	"github.com/algospec/algospec/bench/internal/datasets"
	"github.com/algospec/algospec/bench/internal/peers"
)

//go:embed functions.py
var functions []byte

func main() { peers.Main(functions, run) }

func run(ctx context.Context, s *peers.Setup) error {
	fmt.Printf("\nEngine: %s. Mini-batches of %d rows. The rate of 32 models is for each of them, and what is compared with it is 32 times one model.\n", engine.Name(), batchRows)
	compare.Header(os.Stdout, "rows", "on the training data")
	for _, t := range []struct {
		data       *datasets.Table
		regression bool
	}{
		{datasets.Linear(s.Rows(60e3), 784, true, 1), false},
		{datasets.Linear(s.Rows(60e3), 784, false, 1), true},
		{datasets.Indicators(s.Rows(500e3), 1), false},
	} {
		b := bench{Setup: s, data: t.data, loss: compute.Logistic}
		if t.regression {
			b.loss = compute.Squared
		}
		if err := b.prepare(); err != nil {
			return err
		}
		studies := []*study{b.epoch(1), b.epoch(32)}
		if !t.regression {
			studies = append(studies, b.fromRecords())
			toLoss, err := b.toLoss(ctx)
			if err != nil {
				return err
			}
			studies = append(studies, toLoss)
		}
		for _, c := range studies {
			if !strings.Contains(c.Name, s.Only) {
				continue
			}
			if err := c.Run(ctx, s.Rounds); err != nil {
				return err
			}
			if err := c.check(b.data.Rows()); err != nil {
				return err
			}
			c.Print(os.Stdout)
		}
	}
	return published(ctx, s)
}

// A bench is the comparison on one table.
type bench struct {
	*peers.Setup
	data          *datasets.Table
	loss          compute.Loss
	batches       []compute.Matrix // the whole ones of the data
	dir, recorded string
}

func (b *bench) prepare() (err error) {
	if b.dir, err = os.MkdirTemp(b.Dir, ""); err != nil {
		return err
	}
	b.recorded = filepath.Join(b.dir, "rows.pbr")
	for i := 0; i+batchRows <= b.data.Rows(); i += batchRows {
		b.batches = append(b.batches, b.data.Matrix(i, i+batchRows))
	}
	if err := b.data.SaveNumbers(b.dir); err != nil {
		return err
	}
	return b.data.SaveRecords(b.recorded)
}

// A worth is what a model is worth on the training data.
type worth struct{ Loss, Accuracy float64 }

func (w worth) String() string {
	switch {
	case w.Accuracy == 0:
		return fmt.Sprintf("loss %.4g", w.Loss)
	case w.Loss == 0:
		return fmt.Sprintf("%.1f %% right", 100*w.Accuracy)
	}
	return fmt.Sprintf("loss %.4g, %.1f %% right", w.Loss, 100*w.Accuracy)
}

// A study is a case, and what its models are worth.
type study struct {
	compare.Case
	found []*worth
}

func (b *bench) study(name string, work float64) *study {
	kind := "logistic"
	if b.loss == compute.Squared {
		kind = "squared"
	}
	return &study{Case: compare.Case{Name: fmt.Sprintf("%s, %s, %s", b.data.Name, kind, name), Work: work}}
}

// ours adds a side of ours.
func (s *study) ours(name string, fit func(context.Context) (func() worth, error)) {
	found := new(worth)
	s.found = append(s.found, found)
	s.Sides = append(s.Sides, compare.Side{Name: name, Run: func(ctx context.Context) (compare.Cost, error) {
		var judge func() worth
		cost, err := compare.Time(func() (err error) {
			judge, err = fit(ctx)
			return err
		})
		if err == nil {
			*found = judge()
		}
		return cost, err
	}})
}

// peer adds a side of Python's, which counts as so many.
func (s *study) peer(p *peers.Python, name, function string, times int, args peers.Args) {
	found := new(worth)
	s.found = append(s.found, found)
	side := p.Side(name, function, args, found)
	if times > 1 {
		once := side.Run
		side.Name = fmt.Sprintf("%d times %s", times, name)
		side.Run = func(ctx context.Context) (compare.Cost, error) {
			cost, err := once(ctx)
			return compare.Cost{Seconds: float64(times) * cost.Seconds, CPU: float64(times) * cost.CPU}, err
		}
	}
	s.Sides = append(s.Sides, side)
}

// check notes what the models are worth, and fails where ours is worth clearly less than the first peer's. One pass over few
// rows says little.
func (s *study) check(rows int) error {
	for _, w := range s.found {
		s.Notes = append(s.Notes, w.String())
	}
	ours, peer := s.found[0], s.found[len(s.found)-1]
	if ours.Accuracy == 0 && !(ours.Loss > 0) || ours.Accuracy > 0 && !(ours.Accuracy > 0.55) {
		return fmt.Errorf("%s: a model of %v is none", s.Name, ours)
	}
	if rows >= 20000 && ours.Accuracy > 0 && !(ours.Accuracy > peer.Accuracy-0.05) {
		return fmt.Errorf("%s: %v, where the peer has %v", s.Name, ours, peer)
	}
	return nil
}

func (b *bench) args(more peers.Args) peers.Args {
	args := peers.Args{"path": b.dir, "columns": b.data.Cols()}
	for name, value := range more {
		args[name] = value
	}
	return args
}

func (b *bench) epoch(models int) *study {
	s := b.study("one pass", float64(models*b.data.Rows()))
	name := "ours"
	if models > 1 {
		name = fmt.Sprintf("ours, %d models", models)
	}
	s.ours(name, func(context.Context) (func() worth, error) { return b.fit(grid(models), 1), nil })
	peer := "SGDClassifier"
	if b.loss == compute.Squared {
		peer = "SGDRegressor"
	}
	s.peer(b.Python, peer, "epoch", models, b.args(peers.Args{"regression": b.loss == compute.Squared}))
	return s
}

func (b *bench) fromRecords() *study {
	s := b.study("one pass from RecordIO-protobuf", float64(b.data.Rows()))
	for _, models := range []int{1, 32} {
		s.ours(fmt.Sprintf("ours, a whole job, %d models", models), func(ctx context.Context) (func() worth, error) { return b.train(ctx, models) })
	}
	for _, reader := range b.Readers() {
		if b.data.S == nil {
			s.peer(b.Python, reader.Name+", StandardScaler and SGDClassifier", "from_records", 1, b.args(peers.Args{"path": b.recorded, "reader": reader.Function}))
		}
	}
	return s
}

// excess is how much more than the least loss counts as arrived.
const excess = 1.005

// toLoss compares the time to a loss: each side has about the least number of passes that it needs.
func (b *bench) toLoss(ctx context.Context) (*study, error) {
	s := b.study("to 1.005 of the least loss", 0)
	var least worth
	if err := b.Python.Call("converged", b.args(nil), &least); err != nil {
		return nil, err
	}
	arrived := func(loss func(epochs int) (float64, error)) (epochs int, told string, err error) {
		for _, epochs = range []int{1, 2, 3, 4, 6, 8, 11, 15, 20} {
			if at, err := loss(epochs); err != nil || at <= excess*least.Loss {
				return epochs, fmt.Sprintf("%d passes", epochs), err
			}
		}
		return epochs, fmt.Sprintf("%d passes, which do not suffice", epochs), nil
	}
	for _, models := range []int{32, 1} {
		epochs, told, err := arrived(func(epochs int) (float64, error) { return b.fit(grid(models), epochs)().Loss, nil })
		if err != nil {
			return nil, err
		}
		s.ours(fmt.Sprintf("ours, %d models, %s", models, told), func(context.Context) (func() worth, error) { return b.fit(grid(models), epochs), nil })
	}
	epochs, told, err := arrived(func(epochs int) (float64, error) {
		var at worth
		err := b.Python.Call("saga", b.args(peers.Args{"epochs": epochs}), &at)
		return at.Loss, err
	})
	if err != nil {
		return nil, err
	}
	s.peer(b.Python, "LogisticRegression(saga), "+told, "saga", 1, b.args(peers.Args{"epochs": epochs}))
	return s, nil
}
