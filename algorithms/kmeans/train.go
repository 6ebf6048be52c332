package kmeans

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// ModelFile is the name of the model in the model directory.
const ModelFile = "model_algo-1"

// Train reads the channel train once for each epoch, and the channel test if there is one, and saves the model. It logs what the
// original logs, and a series of its own: `train data_msd <loss>`, the mean squared distance of the data to the centers of
// the model.
//
// Where the platform keeps checkpoints, snapshots of what has been learned are saved there, and a job that starts again
// goes on from the last one: its model is the same, bit for bit. A job that is stopped saves the model of the records read so far.
func Train(ctx context.Context, job *algospec.Job, p Params) error {
	if _, err := compute.Select(""); err != nil { // which compute.Default would only log
		return err
	}
	t := newTraining(job, p)
	_, err := t.run(ctx)
	return err
}

// Fit clusters the rows of a source, RecordIO-protobuf, as Train does, on this host. Of p only K is required; zero values are the
// defaults, a FeatureDim of 0 takes the width of the data, and Sparse, not ForceDense, says whether sparse rows stay so.
func Fit(ctx context.Context, src channel.Source, p Params) (*Model, error) {
	return FitChannel(ctx, &channel.Channel{Name: "train", Source: src}, p)
}

// FitChannel is Fit of a channel, whose content type says in which format its rows are.
func FitChannel(ctx context.Context, c *channel.Channel, p Params) (*Model, error) {
	if p.K < 1 {
		return nil, algospec.ClientErrorf("kmeans: %d clusters", p.K)
	}
	p = p.withDefaults()
	p.ForceDense = true // its zero value is not the default; Sparse says so here
	t := newTraining(&algospec.Job{Channels: map[string]*channel.Channel{"train": c}}, p)
	t.library = true
	return t.run(ctx)
}

// A training is one run of Train.
type training struct {
	job      *algospec.Job
	p        Params
	library  bool // nothing is saved
	batching algorithms.Batching
	report   *algorithms.Report
	trials   []float64 // the loss of each attempt of the reduction
	clock    clock
	progress
	stopped bool // the hosts have agreed to end here

	began                                   time.Time
	setup, initTime, updateTime, shrinkTime time.Duration
}

func newTraining(job *algospec.Job, p Params) *training {
	t := &training{job: job, p: p, batching: p.Batching, clock: clock{}, began: time.Now()}
	t.batching.Sparse = p.Sparse || !p.ForceDense
	r := algorithms.NewReport(job, "AWS/KMeansWebscale", hyperparams.Defaults[Params]())
	t.report = r
	r.Infof("Create Store: %s", map[bool]string{true: "local", false: "dist_sync"}[job.Cluster.Size() == 1])
	r.Infof("Number of GPUs being used: 0")
	r.SettingUp()
	if p.ExtraCenterFactor.IsAuto() {
		r.Infof("'extra_center_factor' was set to 'auto', evaluated to %d.", p.factor())
	}
	r.Infof("Number of GPUs being used: 0")
	r.Infof("number of center slices %d", p.NumSlices)
	return t
}

// run trains, saves the model and says what it is worth.
func (t *training) run(ctx context.Context) (*Model, error) {
	// A host that has little to read, or nothing, would wait for the others' reading otherwise.
	if err := t.job.Cluster.Connect(ctx); err != nil {
		return nil, err
	}
	// What has been learned is worth a model, which a stop does not keep from being saved. All collectives go on, too: a
	// host that is stopped tells the others.
	save, cancel := t.job.SaveContext(ctx)
	defer cancel()
	t.setup = time.Since(t.began)
	if err := t.learn(ctx, save); err != nil {
		return nil, err
	}
	if t.K == 0 {
		t.report.Warnf("Stopped, and there is no model: no centers had been drawn")
		return nil, context.Cause(ctx)
	}
	model, err := t.finish(ctx, save)
	if err != nil {
		return nil, err
	}
	if t.library {
		return model, context.Cause(ctx)
	}
	if err := t.evaluate(ctx, save, model); err != nil || ctx.Err() != nil {
		return nil, cmp.Or(err, context.Cause(ctx))
	}
	t.report.Metrics(t.began, algorithms.Dimensions{}, map[string]float64{"setuptime": milliseconds(t.setup), "totaltime": milliseconds(time.Since(t.began))})
	return model, nil
}

var errNoRecords = algospec.ClientErrorf("channel train: no record in it")

// learn reads the channel train, or what a stop leaves of it, from where the snapshots end.
func (t *training) learn(ctx, save context.Context) error {
	snapshots, err := algorithms.Resume(save, t.job, &t.progress, algorithms.SnapshotOptions{})
	if err != nil {
		return err
	}
	err = t.passes(ctx, save, snapshots)
	if err == nil && t.stopped && t.K > 0 {
		t.report.Infof("Stopped after %d records. The model is of these.", t.counts.Records+t.pass.Records)
		err = snapshots.Final(save)
	}
	return cmp.Or(err, snapshots.Close(save))
}

func (t *training) passes(ctx, save context.Context, snapshots *algorithms.Snapshots) error {
	train := t.job.Channel("train")
	from := snapshots.Position(train.Name)
	if t.K > 0 {
		if t.p.FeatureDim != 0 && t.D != t.p.FeatureDim {
			return algospec.ClientErrorf("hyperparameter feature_dim: %d, where the snapshot that the job goes on from has %d", t.p.FeatureDim, t.D)
		}
		t.report.Infof("Going on after %d records, from the snapshot of step %d.", t.counts.Records+t.pass.Records, snapshots.Step())
	} else if err := t.begin(ctx, save); err != nil {
		return err
	}
	for t.epoch < t.p.Epochs && !t.stopped {
		if err := t.read(ctx, save, train, from, snapshots); err != nil {
			return err
		}
	}
	return nil
}

// begin settles the seed, the same for all hosts, and the centers where an earlier job has left some.
func (t *training) begin(ctx, save context.Context) error {
	seed := []float64{float64(t.p.Seed.Or(randomSeed()))}
	if err := t.job.Cluster.Broadcast(save, 0, seed); err != nil {
		return err
	}
	t.seed = int64(seed[0])
	if t.p.Seed.IsAuto() {
		t.report.Infof("'_seed' was set to 'auto', evaluated to %d.", t.seed)
	}
	if err := t.warm(ctx, save); err != nil || t.K > 0 {
		return err
	}
	if n := t.p.centers(); n > int64(t.p.MiniBatchSize) && t.p.InitMethod != "kmeans||" {
		return algospec.ClientErrorf("hyperparameter mini_batch_size: %d: fewer than the %d centers to draw from the first batch (%d·%d: k·extra_center_factor)", t.p.MiniBatchSize, n, t.p.K, t.p.factor())
	}
	return nil
}

// randomSeed returns another seed each time, which a float64 can hold.
func randomSeed() int64 { return rand.Int64N(1 << 53) }

// finish makes the model of what all hosts have learned, and the leader saves it. The model comes before its score, so that a
// stop in between costs no model.
func (t *training) finish(ctx, save context.Context) (*Model, error) {
	began := time.Now()
	if t.job.Cluster.Size() == 1 {
		t.report.Warnf("wait_for_all_workers will not sync workers since the kv store is not running distributed")
	}
	model, err := t.reduce(save)
	if err != nil {
		return nil, err
	}
	if t.p.FullLloyd && !t.stopped {
		if err := t.polish(ctx, save, model); err != nil {
			return nil, err
		}
	}
	finalize := time.Since(began)
	t.clock.report(t.report)
	t.report.Infof("Number of GPUs being used: 0")
	times := map[string]float64{
		"initialize.time": milliseconds(t.initTime), "epochs": float64(t.p.Epochs), "update.time": milliseconds(t.updateTime),
		"finalize.time": milliseconds(finalize),
	}
	if t.shrinkTime > 0 {
		times["_shrink.time"] = milliseconds(t.shrinkTime)
	}
	if t.job.Cluster.Leader() && !t.library {
		began := time.Now()
		if err := t.job.Model.Save(ModelFile, model); err != nil {
			return nil, err
		}
		times["model.serialize.time"] = milliseconds(time.Since(began))
		if err := t.savePictures(model); err != nil {
			return nil, err
		}
		if t.p.SaveState {
			began := time.Now()
			if err := t.job.Model.Save(StateFile, &t.State); err != nil {
				return nil, err
			}
			times["state.serialize.time"] = milliseconds(time.Since(began))
		}
	}
	t.report.Metrics(t.began, algorithms.Dimensions{}, times)
	return model, nil
}

// reduce has the leader make k centers of the K, and tells the others.
func (t *training) reduce(ctx context.Context) (*Model, error) {
	leader := t.job.Cluster.Leader()
	model := &Model{Centers: t.narrow()}
	if t.K == t.p.K {
		if leader {
			t.report.Infof("No shrinking is required as extra_center_factor is 1.")
		}
		return model, nil
	}
	began := time.Now()
	centers := make([]float64, t.p.K*t.D)
	if leader {
		t.report.Infof("shrinking %d centers into %d", t.K, t.p.K)
		best, msd, err := t.shrink(ctx, t.p.K, t.p, t.seed, func(trial int, msd float64) {
			t.report.Infof("local kmeans attempt #%d. Current mean square distance %f", trial, msd)
			t.trials = append(t.trials, msd)
		})
		if err != nil {
			return nil, err
		}
		t.report.Infof("finished shrinking process. Mean Square Distance = %d", int64(msd))
		t.report.Quality("train msd", "loss", msd)
		for i, x := range best.Centers.Data {
			centers[i] = float64(x)
		}
	}
	if err := t.job.Cluster.Broadcast(ctx, 0, centers); err != nil {
		return nil, err
	}
	t.shrinkTime = time.Since(began)
	s := State{K: t.p.K, D: t.D, Centers: centers}
	return &Model{Centers: s.narrow()}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), algospec.ErrStopped) }

// Metrics returns the definitions of what Train prints for a platform to scrape.
func Metrics() []algospec.MetricDefinition {
	return algorithms.Definitions("test msd <loss>", "test ssd <loss>", "train msd <loss>", "train data_msd <loss>")
}
