package kmeans

import (
	"context"
	"errors"
	"iter"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
)

// A reading is a pass over the channel train, in rounds: a batch of each host that has rows left.
type reading struct {
	*training
	ctx, save context.Context
	next      func() (*algorithms.Batch, error, bool)
	batch     *algorithms.Batch // nil where this host has none
	at        checkpoint.Position

	engine  compute.Centers
	centers blas32.General // the state's, as the engine has them
	// Of a round, over all hosts: the sums of each center's rows, K·d; how many they are, K; all of them; and how
	// many hosts are stopped.
	totals []float64
}

// read reads an epoch of the channel train, from the position if it is of that epoch.
func (t *training) read(ctx, save context.Context, train *channel.Channel, from checkpoint.Position, snapshots *algorithms.Snapshots) error {
	r := &reading{training: t, ctx: ctx, save: save, at: from}
	if from.Epoch != t.epoch || from.Channel == "" {
		r.at = checkpoint.Position{Channel: train.Name, Epoch: t.epoch}
	}
	t.pass.Before = t.pass.Records
	began := time.Now()
	t.pass.Began = began
	next, stop := iter.Pull2(algorithms.BatchesFrom(ctx, train, t.batching, r.at))
	defer stop()
	r.next = next
	for more := true; more; {
		var err error
		if more, err = r.round(snapshots); err != nil {
			return err
		}
	}
	t.updateTime += time.Since(began)
	if t.stopped {
		return nil
	}
	t.end(train.Name)
	return nil
}

// round learns from a batch of each host. It reports whether there may be more.
func (r *reading) round(snapshots *algorithms.Snapshots) (more bool, err error) {
	stop, err := r.fetch()
	if err != nil {
		return false, err
	}
	if r.K == 0 {
		if err := r.initialize(stop); err != nil || r.K == 0 {
			return false, err
		}
	}
	if r.engine == nil {
		r.centers = r.narrow()
		r.engine = compute.Default().NewCenters(r.centers)
		r.totals = make([]float64, r.K*r.D+r.K+2)
	}
	r.assign(stop)
	end := r.clock.begin(partCollect)
	err = r.job.Cluster.AllReduce(r.save, r.totals)
	end()
	if err != nil {
		return false, err
	}
	rows, stops := r.totals[len(r.totals)-2], r.totals[len(r.totals)-1]
	r.stopped = stops > 0
	if rows == 0 {
		return false, nil
	}
	end = r.clock.begin(partUpdate)
	r.State.update(r.totals[:r.K*r.D], r.totals[r.K*r.D:][:r.K], rows, r.p.HalfLifeTimeSize)
	r.narrowTo(r.centers)
	r.engine.Set(r.centers)
	end()
	r.rounds++
	if r.batch != nil {
		r.pass.Add(r.batch)
		r.at = r.batch.End()
	}
	return !r.stopped, snapshots.Offer(r.save, r.at)
}

// fetch gets this host's next batch, if it has one, and says whether the host is stopped.
func (r *reading) fetch() (stop bool, err error) {
	defer r.clock.begin(partLoading)()
	batch, err, ok := r.next()
	r.batch = batch
	switch {
	case !ok:
		r.batch = nil
		return false, nil
	case err != nil && stopped(r.ctx) && errors.Is(err, algospec.ErrStopped):
		r.batch = nil
		return true, nil
	}
	return false, err
}

// assign sums the rows of this host's batch.
func (r *reading) assign(stop bool) {
	defer r.clock.begin(partDistances)()
	clear(r.totals)
	rows, stops := &r.totals[len(r.totals)-2], &r.totals[len(r.totals)-1]
	if r.batch != nil {
		*rows = float64(r.batch.Rows())
		r.engine.AssignAndSum(compute.Of(r.batch), nil, r.totals[:r.K*r.D], r.totals[r.K*r.D:][:r.K])
	}
	if stop {
		*stops = 1
	}
}

// end tells of an epoch that is over, and goes to the next.
func (t *training) end(channel string) {
	pass, epoch := t.pass, t.epoch
	t.report.EpochStats(channel, pass, epoch)
	t.report.Infof("processed a total of %d examples", pass.Records)
	t.report.Progress(epoch+1, t.p.Epochs)
	t.counts.Add(pass)
	t.report.Counts(algorithms.Dimensions{Epoch: &epoch, Meta: "training_data_iter"}, t.counts, pass)
	t.report.Throughput(pass)
	t.epoch++
	t.rounds, t.pass = 0, algorithms.Pass{}
}
