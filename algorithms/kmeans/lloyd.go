package kmeans

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// points are the rows that Lloyd's algorithm clusters: of this host, or of all hosts together.
type points struct {
	d      int
	rows   float64 // of all hosts, where that is of interest
	parts  []compute.Matrix
	weight []float32                                    // of each row, where there is one part; nil is 1 each
	reduce func(ctx context.Context, x []float64) error // sums over the hosts; nil is one host
	stop   func() bool                                  // whether this host wants to end; nil never does
}

// errEnough says that a host wanted to end.
var errEnough = errors.New("kmeans: a host is stopped")

// sum calls add for each part with totals, which it clears, and sums these over the hosts. The last element is for the
// hosts that want to end: if there is one, all get errEnough.
func (p *points) sum(ctx context.Context, totals []float64, add func(x compute.Matrix)) error {
	clear(totals)
	stops := &totals[len(totals)-1]
	for _, x := range p.parts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p.stop != nil && p.stop() {
			*stops = 1
			break
		}
		add(x)
	}
	if p.reduce != nil {
		if err := p.reduce(ctx, totals); err != nil {
			return err
		}
	}
	if *stops > 0 {
		return errEnough
	}
	return nil
}

// A lloyd is Lloyd's algorithm at work on points.
type lloyd struct {
	*points
	centers blas32.General // k×d
	repairs bool           // centers without rows move to where they are of use; of one part on one host
	engine  compute.Centers
	totals  []float64 // sums of each center's rows, k×d; their weights, k; the loss; and the stopped hosts
}

func newLloyd(p *points, centers blas32.General) *lloyd {
	k := centers.Rows
	return &lloyd{points: p, centers: centers, engine: compute.Default().NewCenters(centers), totals: make([]float64, k*p.d+k+2)}
}

// assign sums the rows of each center, and returns the loss: Σ weight·distance² over the rows.
func (l *lloyd) assign(ctx context.Context) (loss float64, err error) {
	k := l.centers.Rows
	sums, weights, losses := l.totals[:k*l.d], l.totals[k*l.d:][:k], &l.totals[k*l.d+k]
	err = l.sum(ctx, l.totals, func(x compute.Matrix) {
		*losses += l.engine.AssignAndSum(x, l.weight, sums, weights)
	})
	return *losses, err
}

// move moves each center to the mean of its rows, and says how many have none, which stay.
func (l *lloyd) move() (empty []int) {
	k := l.centers.Rows
	for j, w := range l.totals[k*l.d:][:k] {
		if w <= 0 {
			empty = append(empty, j)
			continue
		}
		row := l.centers.Data[j*l.centers.Stride:][:l.d]
		for i := range row {
			row[i] = float32(l.totals[j*l.d+i] / w)
		}
	}
	return empty
}

// run improves the centers until the loss falls by no more than tol of itself, or maxIter times, and returns the loss of
// the centers as they are then.
func (l *lloyd) run(ctx context.Context, maxIter int, tol float64) (loss float64, err error) {
	before := math.Inf(1)
	for i := 0; ; i++ {
		loss, err := l.assign(ctx)
		if err != nil || i == maxIter || !math.IsInf(before, 1) && before-loss <= tol*before {
			return loss, err
		}
		before = loss
		if empty := l.move(); len(empty) > 0 && l.repairs {
			l.repair(empty)
		}
		l.engine.Set(l.centers)
	}
}

// repair moves centers without rows to the rows that cost most, each to another one.
func (l *lloyd) repair(empty []int) {
	x := l.parts[0]
	distance := make([]float32, x.Rows())
	l.engine.Set(l.centers)
	l.engine.Assign(x, nil, distance)
	for _, j := range empty {
		worst, most := -1, 0.0
		for i, d := range distance {
			if cost := float64(d) * weightOf(l.weight, i); cost > most {
				worst, most = i, cost
			}
		}
		if worst < 0 {
			return // there are fewer different rows than centers
		}
		widen(x, worst, l.centers.Data[j*l.centers.Stride:][:l.d])
		distance[worst] = 0
	}
}
