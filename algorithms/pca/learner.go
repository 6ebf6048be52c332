package pca

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/cluster"
)

// A Learner learns from batches of rows, one after the other, in memory that does not depend on their number.
// What it has learned can be written, read again, and gone on from; it serves any number of components.
// One goroutine may use it at a time.
type Learner struct {
	p    Params
	stat statistic // nil before the first row
}

// A statistic is what is kept of the rows: a scatter or a sketch.
type statistic interface {
	algorithms.State
	observe(ctx context.Context, b *algorithms.Batch) error
	shape() (rows float64, columns int)
	// merge adds the rows of another one, which is used up. It returns errOtherStatistic where they do not fit.
	merge(other statistic) error
	// reduce replaces the statistic by that of all hosts.
	reduce(ctx context.Context, hosts *cluster.Cluster) error
	solve(p Params) (*Model, error)
}

var (
	errOtherStatistic = errors.New("the statistics do not fit together")
	errNoRecords      = algospec.ClientErrorf("channel train: no record in it")
)

// NewLearner returns a Learner that has seen no row. Of the parameters, those of reading data are for the
// caller, who makes the batches.
func NewLearner(p Params) *Learner { return &Learner{p: p} }

// Observe learns from a batch. It returns context.Cause(ctx) once ctx is done; what the Learner knows is then worth nothing.
func (l *Learner) Observe(ctx context.Context, b *algorithms.Batch) error {
	if l.stat == nil {
		d := max(b.X.Cols, b.S.Cols)
		if d < l.p.NumComponents {
			return algospec.ClientErrorf("hyperparameter num_components: %d: more than the %d features of the data", l.p.NumComponents, d)
		}
		stat, err := l.p.newStatistic(d)
		if err != nil {
			return err
		}
		l.stat = stat
	}
	return l.stat.observe(ctx, b)
}

// Rows returns how many rows the Learner has seen.
func (l *Learner) Rows() int64 {
	if l.stat == nil {
		return 0
	}
	n, _ := l.stat.shape()
	return int64(n)
}

func (l *Learner) columns() int {
	if l.stat == nil {
		return 0
	}
	_, d := l.stat.shape()
	return d
}

// Merge adds what other has learned, which is used up. Both must be of the same mode and number of features, and in
// randomized mode about the mean both or neither.
func (l *Learner) Merge(other *Learner) error {
	switch {
	case other.stat == nil || other.Rows() == 0:
		return nil
	case l.stat == nil || l.Rows() == 0:
		l.stat = other.stat
		return nil
	case l.columns() != other.columns():
		return fmt.Errorf("pca: what was learned of %d features does not add to %d features", other.columns(), l.columns())
	}
	if err := l.stat.merge(other.stat); err != nil {
		return fmt.Errorf("pca: algorithm_mode, or subtract_mean in randomized mode, was another: %w", err)
	}
	return nil
}

// Model returns the model of the rows seen so far; an error where there are none.
func (l *Learner) Model() (*Model, error) {
	if l.Rows() == 0 {
		return nil, errNoRecords
	}
	if d := l.columns(); d < l.p.NumComponents {
		return nil, algospec.ClientErrorf("hyperparameter num_components: %d: more than the %d features of the data", l.p.NumComponents, d)
	}
	return l.stat.solve(l.p)
}

// newStatistic returns the empty statistic for rows of d features. Where a scatter matrix is small
// beside the sketch that randomized mode would keep, it is kept instead: it is exact, and takes less time.
func (p *Params) newStatistic(d int) (statistic, error) {
	rows := p.sketchRows()
	switch {
	case p.randomized() && d > 4*rows:
		if d > maxSketch/rows {
			return nil, tooWide(d, maxSketch/rows, "randomized mode with fewer components takes more")
		}
		return newSketch(d, rows, p.SubtractMean, p.Seed), nil
	case d > maxFeatures:
		return nil, tooWide(d, maxFeatures, "algorithm_mode=randomized takes more")
	}
	return new(scatter), nil
}

func tooWide(d, limit int, hint string) error {
	return algospec.ClientErrorf("channel train: %d features, more than the %d that the algorithm takes; %s", d, limit, hint)
}

// reduce puts together what all hosts have learned; all of them get the same.
func (l *Learner) reduce(ctx context.Context, hosts *cluster.Cluster) error {
	d, err := commonWidth(ctx, l.columns(), hosts)
	if err != nil {
		return err
	}
	if l.stat == nil || l.columns() == 0 { // no row came to this host
		if l.stat, err = l.p.newStatistic(d); err != nil {
			return err
		}
		if s, ok := l.stat.(*scatter); ok {
			s.alloc(d)
		}
	}
	return l.stat.reduce(ctx, hosts)
}

// commonWidth returns how many features the rows of all hosts have, where this one's have d; 0 is of
// a host without rows.
func commonWidth(ctx context.Context, d int, hosts *cluster.Cluster) (int, error) {
	widths := make([]float64, hosts.Size())
	widths[hosts.Rank()] = float64(d)
	if err := hosts.AllReduce(ctx, widths); err != nil {
		return 0, err
	}
	common := 0.0
	for rank, width := range widths {
		switch {
		case common == 0:
			common = width
		case width != 0 && width != common:
			return 0, algospec.ClientErrorf("channel train: the host of rank %d has %v features, and one before it %v", rank, width, common)
		}
	}
	if common == 0 {
		return 0, errNoRecords
	}
	return int(common), nil
}

// WriteTo writes what the Learner has learned.
func (l *Learner) WriteTo(w io.Writer) (int64, error) {
	if l.stat == nil {
		return new(scatter).WriteTo(w)
	}
	return l.stat.WriteTo(w)
}

// ReadFrom replaces what the Learner has learned by what WriteTo has written, and reads no further. After an error the
// Learner is unchanged.
func (l *Learner) ReadFrom(r io.Reader) (int64, error) {
	var head [8]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return int64(n), unexpected(err)
	}
	var stat statistic = new(scatter) // also for what is no state, which it tells
	if math.Float64frombits(binary.LittleEndian.Uint64(head[:])) == sketchVersion {
		stat = &sketch{seed: l.p.Seed}
	}
	n, err := stat.ReadFrom(io.MultiReader(bytes.NewReader(head[:]), r))
	if err != nil {
		return n, err
	}
	if _, d := stat.shape(); d == 0 {
		stat = nil
	}
	l.stat = stat
	return n, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
