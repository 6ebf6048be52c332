package kmeans

import (
	"context"
	"errors"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/hyperparams"
)

// How Lloyd's algorithm ends over the data.
const (
	polishIter = 300
	polishTol  = 1e-6
)

// polish improves the model over the data of all hosts, which are read once more and held in memory. Where they do not fit, or a host is
// stopped, that is left out or cut short.
func (t *training) polish(ctx, save context.Context, m *Model) error {
	began := time.Now()
	p, err := t.hold(ctx, save)
	if p == nil {
		return err
	}
	centers, least, err := breathe(save, p, m.Centers, t.p.BreathingDepth, t.seed)
	for again := 1; err == nil && again < t.starts(p); again++ {
		var start, other blas32.General
		var loss float64
		if start, err = t.restart(save, again); err != nil {
			break
		}
		if other, loss, err = breathe(save, p, start, t.p.BreathingDepth, t.seed+int64(again)); loss < least {
			centers, least = other, loss
		}
	}
	if err == nil {
		last := newLloyd(p, centers)
		_, err = last.run(save, polishIter, polishTol)
		centers = last.centers
	}
	m.Centers = centers
	if errors.Is(err, errEnough) {
		t.report.Infof("Stopped in the course of _full_lloyd. The model is the best so far.")
		return nil
	}
	if err == nil {
		t.report.Timing("full_lloyd.time", began)
	}
	return err
}

// cheapWork is how much work, rows·features·centers, of one step of Lloyd's algorithm is so little that breathing from several starts
// takes a second or so.
const cheapWork = 1 << 24

// starts returns from how many starts the centers are improved: several where that is cheap, as a few points have the deepest
// traps.
func (t *training) starts(p *points) int {
	if t.p.BreathingDepth > 0 && p.rows*float64(p.d)*float64(t.p.K) <= cheapWork {
		return 5
	}
	return 1
}

// restart returns other centers to start from, the same on all hosts: those of another trial of the reduction.
func (t *training) restart(ctx context.Context, again int) (blas32.General, error) {
	centers := make([]float64, t.p.K*t.D)
	if t.job.Cluster.Leader() {
		p := t.p
		p.LocalLloydNumTrials = hyperparams.Fixed(1)
		m, _, err := t.shrink(ctx, p.K, p, t.seed+int64(again), nil)
		if err != nil {
			return blas32.General{}, err
		}
		for i, x := range m.Centers.Data {
			centers[i] = float64(x)
		}
	}
	err := t.job.Cluster.Broadcast(ctx, 0, centers)
	s := State{K: t.p.K, D: t.D, Centers: centers}
	return s.narrow(), err
}

// hold reads the channel train once more, into memory. It returns nil where the data do not fit, on one host or another, or a host is
// stopped.
func (t *training) hold(ctx, save context.Context) (*points, error) {
	p := &points{d: t.D, reduce: t.job.Cluster.AllReduce, stop: func() bool { return stopped(ctx) }}
	h := holder{limit: int64(t.p.MaxMemory) << 20}
	batching := t.batching
	batching.FeatureDim, batching.MaxColumns = t.D, 0
	votes := make([]float64, 3) // hosts that are stopped, and whose data do not fit; the rows of all hosts
	for batch, err := range algorithms.Batches(ctx, t.job.Channel("train"), batching) {
		if err != nil && stopped(ctx) && errors.Is(err, algospec.ErrStopped) {
			votes[0] = 1
			break
		}
		if err != nil {
			return nil, err
		}
		if !h.add(compute.Of(batch)) {
			votes[1] = 1
			break
		}
		votes[2] += float64(batch.Rows())
	}
	if err := t.job.Cluster.AllReduce(save, votes); err != nil {
		return nil, err
	}
	switch {
	case votes[0] > 0:
		t.report.Infof("Stopped before _full_lloyd, which is left out.")
		return nil, nil
	case votes[1] > 0:
		t.report.Warnf("The data take more than the %d MiB of _max_memory_mb: _full_lloyd is left out.", t.p.MaxMemory)
		return nil, nil
	}
	p.parts, p.rows = h.parts, votes[2]
	return p, nil
}

// partNumbers is how many numbers a part of the data has, or a row more.
const partNumbers = 1 << 20

// A holder copies rows into memory, in parts, so that it holds little more than the rows take.
type holder struct {
	parts       []compute.Matrix
	used, limit int64 // bytes
}

// add copies the rows of x. It reports whether there was room.
func (h *holder) add(x compute.Matrix) bool {
	if x.S != nil {
		return h.addSparse(x.S)
	}
	d := x.X.Cols
	for i := 0; i < x.X.Rows; {
		if n := len(h.parts); n == 0 || len(h.parts[n-1].X.Data)+d > cap(h.parts[n-1].X.Data) {
			room := max(d, partNumbers/d*d)
			if h.used += 4 * int64(room); h.used > h.limit {
				return false
			}
			h.parts = append(h.parts, compute.Matrix{X: blas32.General{Cols: d, Stride: d, Data: make([]float32, 0, room)}})
		}
		part := &h.parts[len(h.parts)-1].X
		rows := min(x.X.Rows-i, (cap(part.Data)-len(part.Data))/d)
		for r := range rows {
			part.Data = append(part.Data, x.X.Data[(i+r)*x.X.Stride:][:d]...)
		}
		part.Rows += rows
		i += rows
	}
	return true
}

// addSparse copies a batch as a part.
func (h *holder) addSparse(s *algorithms.CSR) bool {
	if h.used += 8 * int64(len(s.Data)+len(s.Indptr)); h.used > h.limit {
		return false
	}
	own := &algorithms.CSR{Cols: s.Cols}
	own.Indptr = append(own.Indptr, s.Indptr...)
	own.Indices = append(own.Indices, s.Indices...)
	own.Data = append(own.Data, s.Data...)
	h.parts = append(h.parts, compute.Matrix{S: own})
	return true
}
