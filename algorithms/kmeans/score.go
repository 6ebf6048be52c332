package kmeans

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/channel"
)

// evaluate reports the loss of the data, where that costs no more than reading files again, and that of the test channels. A stop ends
// it; the model is saved.
func (t *training) evaluate(ctx, save context.Context, m *Model) error {
	train := t.job.Channel("train")
	if t.wantsDataMSD(train) {
		l, err := t.loss(ctx, save, m, train)
		if err != nil || l.stopped {
			return err
		}
		if t.job.Cluster.Leader() {
			t.report.Quality("train data_msd", "loss", l.sum/l.rows)
		}
	}
	return t.test(ctx, save, m)
}

// wantsDataMSD reports whether there is to be a further pass for the loss of the data. Where these come from elsewhere, by
// Pipe or FastFile mode, that would be all their way once more, so that they have to be asked for.
func (t *training) wantsDataMSD(train *channel.Channel) bool {
	mode := train.Config.TrainingInputMode
	local := mode == "" || strings.EqualFold(mode, "File")
	return t.p.DataMSD.Or(local)
}

// test reports how far the rows of the test channels are from the centers. A host without one takes part in
// the sum: hosts of other instance groups may have it.
func (t *training) test(ctx, save context.Context, m *Model) error {
	test, ok := t.job.Channels["test"]
	if !ok {
		t.report.Infof("Test data is not provided.")
	}
	l, err := t.loss(ctx, save, m, test)
	switch {
	case err != nil || !t.job.Cluster.Leader() || l.channels == 0 || l.stopped:
		return err
	case l.rows == 0:
		t.report.Warnf("The test channel holds no record.")
		return nil
	}
	if slices.Contains(t.p.EvalMetrics, "msd") {
		t.report.Quality("test msd", "loss", l.sum/l.rows)
	}
	if slices.Contains(t.p.EvalMetrics, "ssd") {
		t.report.Quality("test ssd", "loss", l.sum)
	}
	return nil
}

// A loss is that of the rows of a channel on all hosts.
type loss struct {
	sum      float64 // of the squared distances to the nearest centers
	rows     float64
	channels float64 // hosts that have the channel
	stopped  bool    // a host did not come to the end of its rows
}

// loss returns the loss of the rows of a channel, which is nil on hosts that lack it. What is replicated to several hosts counts once.
func (t *training) loss(ctx, save context.Context, m *Model, c *channel.Channel) (l loss, err error) {
	const squares, rows, shards, wholes, stops = 0, 1, 2, 3, 4
	totals := make([]float64, 5)
	if c != nil {
		switch err := t.addLoss(ctx, m, c, totals); {
		case err != nil && stopped(ctx) && errors.Is(err, algospec.ErrStopped):
			totals[stops] = 1
		case err != nil:
			return l, err
		}
		if strings.EqualFold(c.Config.S3DistributionType, "ShardedByS3Key") || c.Name == "train" {
			totals[shards] = 1
		} else {
			totals[wholes] = 1
		}
	}
	if err := t.job.Cluster.AllReduce(save, totals); err != nil {
		return l, err
	}
	if totals[shards] == 0 && totals[wholes] > 0 {
		totals[squares] /= totals[wholes]
		totals[rows] /= totals[wholes]
	}
	return loss{totals[squares], totals[rows], totals[shards] + totals[wholes], totals[stops] > 0}, nil
}

func (t *training) addLoss(ctx context.Context, m *Model, c *channel.Channel, totals []float64) error {
	batching := t.batching
	batching.FeatureDim, batching.MaxColumns = m.Centers.Cols, 0
	centers := compute.Default().NewCenters(m.Centers)
	var distance []float32
	for batch, err := range algorithms.Batches(ctx, c, batching) {
		if err != nil {
			return err
		}
		distance = slices.Grow(distance[:0], batch.Rows())[:batch.Rows()]
		centers.Assign(compute.Of(batch), nil, distance)
		for _, d := range distance {
			totals[0] += float64(d)
		}
		totals[1] += float64(batch.Rows())
	}
	return nil
}
