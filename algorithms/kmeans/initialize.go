package kmeans

import (
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// initialize draws the centers from the first batch of the first host that has enough rows, and tells the others. Where a host is
// stopped before there are enough, no centers are drawn.
func (r *reading) initialize(stop bool) error {
	began := time.Now()
	root, d, err := r.firstWithRows(stop)
	if err != nil || root < 0 {
		return err
	}
	if n := float64(r.p.centers()) * float64(d); n > maxNumbers {
		return algospec.ClientErrorf("channel train: %d centers of %d features are more than %d numbers", r.p.centers(), d, maxNumbers)
	}
	k := int(r.p.centers())
	centers := make([]float64, k*d)
	if r.job.Cluster.Rank() == root {
		x := compute.Of(r.batch)
		var chosen []int
		if random := stream(r.seed, streamInit); r.p.InitMethod == "random" {
			chosen = random.Perm(x.Rows())[:k]
		} else {
			chosen = plusPlus(random, x, nil, k, 1)
		}
		rows := rowsOf(x, chosen)
		for i, v := range rows.Data {
			centers[i] = float64(v)
		}
	}
	if err := r.job.Cluster.Broadcast(r.save, root, centers); err != nil {
		return err
	}
	r.State = newState(k, d, centers)
	r.greet(began)
	return nil
}

// firstWithRows returns the rank of the first host whose first batch has enough rows, and how many features these have. It is -1
// where there is none and a host is stopped.
func (r *reading) firstWithRows(stop bool) (root, d int, err error) {
	hosts := &r.job.Cluster
	sizes := make([]float64, 2*hosts.Size()+1) // rows and features of each host's batch; how many hosts are stopped
	if r.batch != nil {
		sizes[2*hosts.Rank()] = float64(r.batch.Rows())
		sizes[2*hosts.Rank()+1] = float64(compute.Of(r.batch).Cols())
	}
	if stop {
		sizes[2*hosts.Size()] = 1
	}
	if err := hosts.AllReduce(r.save, sizes); err != nil {
		return 0, 0, err
	}
	most := 0.0
	for rank := range hosts.Size() {
		rows := sizes[2*rank]
		if rows >= float64(r.p.centers()) {
			return rank, int(sizes[2*rank+1]), nil
		}
		most = max(most, rows)
	}
	switch {
	case sizes[2*hosts.Size()] > 0:
		r.stopped = true
		return -1, 0, nil
	case most == 0:
		return 0, 0, errNoRecords
	}
	return 0, 0, r.tooFew(int64(most))
}

// greet says what the first batch was.
func (r *reading) greet(began time.Time) {
	var first algorithms.Pass
	first.Began = began
	if r.batch != nil {
		first.Add(r.batch)
		if n := r.batch.Rows(); n < r.p.MiniBatchSize {
			r.report.Warnf("Batch size %d is bigger than the first batch data. Effective batch size used to initialize is %d", r.p.MiniBatchSize, n)
		}
	}
	counts := algorithms.Counts{Records: first.Records, Batches: first.Batches, MaxRecords: first.Records, MaxBatches: first.Batches}
	r.report.Counts(algorithms.Dimensions{Meta: "init_train_data_iter"}, counts, first)
	r.initTime = time.Since(r.began)
}
