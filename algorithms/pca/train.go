package pca

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/hyperparams"
)

// ModelFile is the name of the model in the model directory.
const ModelFile = "model_algo-1"

// Train reads the channel train once, and the channel test if there is one, and saves the model.
// It logs what the original logs, and two series of its own: `train explained_variance <score>`,
// the share of the variance that the components explain, and `test mse <loss>`, the mean over all
// numbers of the test data of the squared error of their reconstruction from the components.
//
// Where the platform keeps checkpoints, each host saves snapshots of its sums, and a job that starts again
// goes on from there: its model is the same, bit for bit. A job that is stopped saves the model of the
// records read so far.
func Train(ctx context.Context, job *algospec.Job, p Params) error {
	if _, err := compute.Select(""); err != nil { // which compute.Default would only log
		return err
	}
	t := &training{job: job, p: p, began: time.Now(), learned: NewLearner(p)}
	t.report = algorithms.NewReport(job, "PCA", hyperparams.Defaults[Params]())
	t.report.Infof("Create Store: local")
	t.report.Infof("Number of GPUs being used: 0")
	t.report.Infof("The default executor is %s.", p.executor())

	// A host that has little to read, or nothing, would wait for the others' reading otherwise.
	if err := job.Cluster.Connect(ctx); err != nil {
		return err
	}
	var err error
	if t.before, err = readModelChannel(ctx, job, p); err != nil {
		return err
	}
	if t.before != nil {
		t.report.Infof("Going on from a model of %d records.", t.before.Rows())
	}
	t.setUp = time.Now()
	// What has been read is worth a model, which a stop does not keep from being saved.
	save, cancel := job.SaveContext(ctx)
	defer cancel()
	if err := t.observe(ctx, save); err != nil {
		return err
	}
	model, err := t.solve(save)
	if lack, ok := errors.AsType[*noStatisticError](err); ok && stopped(ctx) {
		t.report.Warnf("Stopped, and there is no model: %v", lack.err)
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if err := score(ctx, job, model, p, t.report); err != nil {
		return err
	}
	t.report.DoneAfter(t.setUp)
	return nil
}

// A training is one run of Train.
type training struct {
	job    *algospec.Job
	p      Params
	report *algorithms.Report
	began  time.Time
	setUp  time.Time

	learned *Learner
	before  *Learner // what an earlier job has learned, on the leader; nil where there was none
}

// observe sums the statistics of the channel train, or of what a stop leaves of it.
func (t *training) observe(ctx, save context.Context) error {
	snapshots, err := algorithms.Resume(ctx, t.job, t.learned, algorithms.SnapshotOptions{Alone: true})
	if err != nil {
		return err
	}
	err = t.read(ctx, save, snapshots)
	if stopped(ctx) && errors.Is(err, algospec.ErrStopped) {
		t.report.Infof("Stopped after %d records. The model is of these.", t.learned.Rows())
		err = snapshots.Final(save)
	}
	return cmp.Or(err, snapshots.Close(save))
}

// read reads the channel train from where the snapshots end.
func (t *training) read(ctx, save context.Context, snapshots *algorithms.Snapshots) error {
	batching := t.p.batching()
	train := t.job.Channel("train")
	from := snapshots.Position(train.Name)
	pass := algorithms.Pass{Began: time.Now(), Records: from.Records, Batches: snapshots.Step(), Bytes: from.Bytes, Before: from.Records}
	if from.Records > 0 {
		t.report.Infof("Going on after %d records, from the snapshot of step %d.", from.Records, snapshots.Step())
	}
	for batch, err := range algorithms.BatchesFrom(ctx, train, batching, from) {
		if err != nil {
			return t.p.hint(err)
		}
		if pass.Records == pass.Before {
			if err := t.greet(batch); err != nil {
				return err
			}
		}
		if err := t.learned.Observe(save, batch); err != nil { // to the end of the batch
			return err
		}
		pass.Add(batch)
		if err := snapshots.Offer(ctx, batch.End()); err != nil {
			return err
		}
	}
	t.report.Pass(train.Name, pass, 0, t.p.Epochs)
	return nil
}

// greet compares the hyperparameters with the first batch.
func (t *training) greet(batch *algorithms.Batch) error {
	d := max(batch.X.Cols, batch.S.Cols)
	t.report.Infof("%d feature(s) found in 'data'.", d)
	t.report.Infof("%s is assigned to batch slice from 0 to %d.", t.p.executor(), t.p.MiniBatchSize-1)
	if d != t.p.FeatureDim {
		t.report.Warnf("The data have %d features where feature_dim is %d. Using %d.", d, t.p.FeatureDim, d)
	}
	if t.p.randomized() && t.p.sketchRows() > d {
		t.report.Warnf("The total number of components and extra components should be less than the number of features.")
	}
	if before := t.before; before != nil && before.columns() != d {
		return algospec.ClientErrorf("channel %s: a model of %d features, and the data have %d", modelChannel, before.columns(), d)
	}
	t.report.Timing("initialize.time", t.began)
	return nil
}

// solve makes the model of what all hosts have read. All have the same one; the leader saves it and says
// what it is worth. The model comes before its score, so that a stop in between costs no model.
func (t *training) solve(ctx context.Context) (*Model, error) {
	began := time.Now()
	if err := t.together(ctx); err != nil {
		return nil, &noStatisticError{err}
	}
	model, err := t.learned.Model()
	if err != nil {
		return nil, err
	}
	t.report.Timing("finalize.time", began)
	if t.job.Cluster.Leader() {
		return model, t.save(model)
	}
	return model, nil
}

// together puts together what all hosts have learned, and an earlier job.
func (t *training) together(ctx context.Context) error {
	if t.before != nil {
		if err := t.learned.Merge(t.before); err != nil {
			return algospec.ClientErrorf("channel %s: %w", modelChannel, err)
		}
	}
	return t.learned.reduce(ctx, &t.job.Cluster)
}

// save saves the model and what else the job leaves.
func (t *training) save(model *Model) error {
	t.report.Quality("train explained_variance", "score", model.explained())
	explained := model.Explained()
	t.report.Infof("explained variance ratio of the largest components: %s", ratios(explained.Ratio))
	began := time.Now()
	if err := t.job.Model.Save(ModelFile, model); err != nil {
		return err
	}
	t.report.Timing("model.serialize.time", began)
	if t.job.Output != "" {
		if err := t.job.Output.Save(ExplainedFile, algospec.JSON(explained)); err != nil {
			return err
		}
		if err := t.job.SavePictures(explained.picture()); err != nil {
			return err
		}
	}
	if !t.p.SaveState {
		return nil
	}
	began = time.Now()
	if err := t.job.Model.Save(StateFile, state{t.learned}); err != nil {
		return err
	}
	t.report.Timing("state.serialize.time", began)
	return nil
}

// ratios prints the first of many ratios.
func ratios(all []float64) string {
	var text []string
	for _, ratio := range all[:min(len(all), 20)] {
		text = append(text, strconv.FormatFloat(ratio, 'g', 6, 64))
	}
	return strings.Join(text, ", ")
}

// A noStatisticError says why the hosts have no statistic of all data.
type noStatisticError struct{ err error }

func (e *noStatisticError) Error() string { return e.err.Error() }
func (e *noStatisticError) Unwrap() error { return e.err }

func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), algospec.ErrStopped) }

// Metrics returns the definitions of what Train prints for a platform to scrape.
func Metrics() []algospec.MetricDefinition {
	return algorithms.Definitions("train explained_variance <score>", "test mse <loss>")
}
