package kmeans

import (
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// firsts are what the hosts' first batches are.
type firsts struct {
	rows     []int // of each host
	features int
	stopped  bool // a host is stopped
}

func (f *firsts) sum() (n int64) {
	for _, rows := range f.rows {
		n += int64(rows)
	}
	return n
}

// initialize draws the centers, of which all hosts then hold the same bits. Where a host is stopped before there are rows enough, it draws none.
func (r *reading) initialize(stop bool) error {
	began := time.Now()
	f, err := r.firsts(stop)
	if err != nil {
		return err
	}
	k, root := r.p.centers(), -1
	for rank, rows := range f.rows {
		if int64(rows) >= k && root < 0 {
			root = rank
		}
	}
	parallel := r.p.InitMethod == "kmeans||"
	switch enough := root >= 0 || parallel && f.sum() >= k; {
	case enough && float64(k)*float64(f.features) > maxNumbers:
		return algospec.ClientErrorf("channel train: %d centers of %d features are more than %d numbers", k, f.features, maxNumbers)
	case enough:
	case f.stopped:
		r.stopped = true
		return nil
	case f.sum() == 0:
		return errNoRecords
	default:
		return r.tooFew(f.rows)
	}
	var centers []float64
	if parallel {
		p := parallelDraw{reading: r, k: int(k), d: f.features, rows: f.rows}
		if r.batch != nil {
			p.x = compute.Of(r.batch)
		}
		centers, err = p.draw()
	} else {
		centers, err = r.drawAt(root, int(k), f.features)
	}
	if err != nil {
		return err
	}
	r.State = newState(int(k), f.features, centers)
	r.greet(began)
	return nil
}

// firsts tells all hosts what the first batch of each is.
func (r *reading) firsts(stop bool) (firsts, error) {
	hosts := &r.job.Cluster
	numbers := make([]float64, 2*hosts.Size()+1) // rows and features of each; stopped ones
	if r.batch != nil {
		numbers[2*hosts.Rank()] = float64(r.batch.Rows())
		numbers[2*hosts.Rank()+1] = float64(compute.Of(r.batch).Cols())
	}
	if stop {
		numbers[2*hosts.Size()] = 1
	}
	if err := hosts.AllReduce(r.save, numbers); err != nil {
		return firsts{}, err
	}
	f := firsts{stopped: numbers[2*hosts.Size()] > 0}
	for rank := range hosts.Size() {
		f.rows = append(f.rows, int(numbers[2*rank]))
		f.features = max(f.features, int(numbers[2*rank+1])) // all the same, but for hosts without rows
	}
	return f, nil
}

// drawAt has the host of rank root draw k rows of its first batch.
func (r *reading) drawAt(root, k, d int) ([]float64, error) {
	centers := make([]float64, k*d)
	if r.job.Cluster.Rank() == root {
		x := compute.Of(r.batch)
		random, chosen := stream(r.seed, streamInit), []int(nil)
		if r.p.InitMethod == "random" {
			chosen = random.Perm(x.Rows())[:k]
		} else {
			var err error
			if chosen, err = plusPlus(r.save, random, x, nil, k, 1); err != nil {
				return nil, err
			}
		}
		for i, v := range rowsOf(x, chosen).Data {
			centers[i] = float64(v)
		}
	}
	return centers, r.job.Cluster.Broadcast(r.save, root, centers)
}

// tooFew is the error of first batches from which the centers cannot be drawn.
func (t *training) tooFew(rows []int) error {
	most := 0
	for _, n := range rows {
		most = max(most, n)
	}
	return algospec.ClientErrorf("channel train: the first batch has %d rows, fewer than the %d centers to draw from it (%d·%d: k·extra_center_factor); "+
		"a smaller extra_center_factor or a larger mini_batch_size may help", most, t.p.centers(), t.p.K, t.p.factor())
}

// greet says what the first batch was.
func (r *reading) greet(began time.Time) {
	first := algorithms.Pass{Began: began}
	if r.batch != nil {
		first.Add(r.batch)
		if n := r.batch.Rows(); n < r.p.MiniBatchSize {
			r.report.Warnf("Batch size %d is bigger than the first batch data. Effective batch size used to initialize is %d", r.p.MiniBatchSize, n)
		}
	}
	counts := algorithms.Counts{Records: first.Records, Batches: first.Batches, MaxRecords: first.Records, MaxBatches: first.Batches}
	r.report.Counts(algorithms.Dimensions{Meta: "init_train_data_iter"}, counts, first)
	r.initTime = time.Since(r.training.began)
}
