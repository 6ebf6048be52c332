// Pca compares PCA with scikit-learn's in one run: of float32 rows in memory, and end to end, from a
// file of RecordIO-protobuf to a fitted model. Both sides have the same number of threads, and each model
// is held to one that numpy makes in float64.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/bench/internal/compare"
	"github.com/algospec/algospec/bench/internal/datasets"
	"github.com/algospec/algospec/bench/internal/peers"
)

//go:embed functions.py
var functions []byte

func main() { peers.Main(functions, run) }

const components = 10

func run(ctx context.Context, s *peers.Setup) error {
	fmt.Printf("\nEngine: %s. %d components; errors, to float64: the largest relative one of the singular values, and the sine of the largest angle between the spaces.\n", engine(), components)
	compare.Header(os.Stdout, "rows", "errors")
	for _, size := range []struct {
		rows, columns int
		full          bool // an SVD of the data is to be borne
	}{{1e6, 50, true}, {60e3, 784, false}} {
		b := bench{Setup: s, data: datasets.Blobs(s.Rows(size.rows), size.columns, 1), models: map[string]*model{}}
		if err := b.prepare(); err != nil {
			return err
		}
		for _, c := range []compare.Case{b.inMemory(size.full), b.fromRecords()} {
			if !strings.Contains(c.Name, s.Only) {
				continue
			}
			if err := c.Run(ctx, s.Rounds); err != nil {
				return err
			}
			if err := b.check(&c); err != nil {
				return err
			}
			c.Print(os.Stdout)
		}
	}
	return nil
}

// A bench is the comparison on one table.
type bench struct {
	*peers.Setup
	data          *datasets.Table
	dir, recorded string
	exact         model
	models        map[string]*model // by case and side
}

// A model is what it is held to: components are rows, the first the largest.
type model struct {
	Singular   []float64
	Components [][]float64
}

func (b *bench) prepare() error {
	b.dir = filepath.Join(b.Dir, fmt.Sprint(b.data.Cols()))
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	b.recorded = filepath.Join(b.dir, "rows.pbr")
	if err := b.data.SaveNumbers(b.dir); err != nil {
		return err
	}
	if err := b.data.SaveRecords(b.recorded); err != nil {
		return err
	}
	return b.Python.Call("exact", b.args(nil), &b.exact)
}

// args are those of every call, and more.
func (b *bench) args(more peers.Args) peers.Args {
	args := peers.Args{"path": filepath.Join(b.dir, "x"), "columns": b.data.Cols(), "k": components}
	for name, value := range more {
		args[name] = value
	}
	return args
}

func (b *bench) inMemory(full bool) compare.Case {
	c := compare.Case{Name: b.data.Name + " in memory", Work: float64(b.data.Rows())}
	c.Sides = append(c.Sides,
		b.ours(&c, "ours", b.fit),
		b.peer(&c, "PCA(covariance_eigh)", "fit", peers.Args{"solver": "covariance_eigh"}))
	if full {
		c.Sides = append(c.Sides, b.peer(&c, "PCA(full)", "fit", peers.Args{"solver": "full"}))
	}
	c.Sides = append(c.Sides, b.peer(&c, "IncrementalPCA(batch_size=5000)", "incremental", peers.Args{"batch": 5000}))
	return c
}

func (b *bench) fromRecords() compare.Case {
	c := compare.Case{Name: b.data.Name + " from RecordIO-protobuf", Work: float64(b.data.Rows())}
	c.Sides = append(c.Sides, b.ours(&c, "ours, a whole job", b.train))
	for _, reader := range b.Readers() {
		c.Sides = append(c.Sides, b.peer(&c, reader.Name+" and PCA(covariance_eigh)", "from_records", peers.Args{"path": b.recorded, "reader": reader.Function}))
	}
	return c
}

func (b *bench) ours(c *compare.Case, name string, fit func(context.Context) (*model, error)) compare.Side {
	key := c.Name + name
	return compare.Side{Name: name, Run: func(ctx context.Context) (compare.Cost, error) {
		return compare.Time(func() (err error) {
			b.models[key], err = fit(ctx)
			return err
		})
	}}
}

func (b *bench) peer(c *compare.Case, name, function string, args peers.Args) compare.Side {
	m := new(model)
	b.models[c.Name+name] = m
	return b.Python.Side(name, function, b.args(args), m)
}
