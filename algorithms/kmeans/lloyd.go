package kmeans

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// points are the rows that Lloyd's algorithm clusters: of this host, or of all hosts together.
type points struct {
	x      compute.Matrix
	weight []float32                                    // of each row; nil is 1 each
	reduce func(ctx context.Context, x []float64) error // sums over the hosts; nil is one host
	d      int
}

// A lloyd is Lloyd's algorithm at work on points.
type lloyd struct {
	points
	centers blas32.General // k×d
	engine  compute.Centers
	totals  []float64 // sums of each center's rows, k×d; their weights, k; and the loss
}

func newLloyd(p points, centers blas32.General) *lloyd {
	k := centers.Rows
	return &lloyd{points: p, centers: centers, engine: compute.Default().NewCenters(centers), totals: make([]float64, k*p.d+k+1)}
}

func (l *lloyd) sums() []float64    { return l.totals[:l.centers.Rows*l.d] }
func (l *lloyd) weights() []float64 { return l.totals[l.centers.Rows*l.d:][:l.centers.Rows] }

// assign sums the rows of each center, and returns the loss: Σ weight·distance² over the rows.
func (l *lloyd) assign(ctx context.Context) (loss float64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	clear(l.totals)
	last := len(l.totals) - 1
	if l.x.Rows() > 0 {
		l.totals[last] = l.engine.AssignAndSum(l.x, l.weight, l.sums(), l.weights())
	}
	if l.reduce != nil {
		if err := l.reduce(ctx, l.totals); err != nil {
			return 0, err
		}
	}
	return l.totals[last], nil
}

// move moves each center to the mean of its rows, and says how many have none, which stay.
func (l *lloyd) move() (empty []int) {
	sums := l.sums()
	for j, w := range l.weights() {
		if w <= 0 {
			empty = append(empty, j)
			continue
		}
		row := l.centers.Data[j*l.centers.Stride:][:l.d]
		for i := range row {
			row[i] = float32(sums[j*l.d+i] / w)
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
		if err != nil || i == maxIter || before-loss <= tol*before && !math.IsInf(before, 1) {
			return loss, err
		}
		before = loss
		if empty := l.move(); len(empty) > 0 && l.reduce == nil {
			l.repair(empty)
		}
		l.engine.Set(l.centers)
	}
}

// repair moves centers without rows to the rows that cost most, each to another one that is not where it is already.
func (l *lloyd) repair(empty []int) {
	n := l.x.Rows()
	distance := make([]float32, n)
	l.engine.Set(l.centers)
	l.engine.Assign(l.x, nil, distance)
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
		widen(l.x, worst, l.centers.Data[j*l.centers.Stride:][:l.d])
		distance[worst] = 0
	}
}
