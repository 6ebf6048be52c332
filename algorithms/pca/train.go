package pca

import (
	"context"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// ModelFile is the name of the model in the model directory.
const ModelFile = "model_algo-1"

// Train reads the channel train once, and the channel test if there is one, and saves the model.
// It logs what the original logs, and two series of its own: `train explained_variance <score>`,
// the share of the variance that the components explain, and `test mse <loss>`, the mean over all
// numbers of the test data of the squared error of their reconstruction from the components.
func Train(ctx context.Context, job *algospec.Job, p Params) error {
	began := time.Now()
	report := algorithms.NewReport(job, "PCA", hyperparams.Defaults[Params]())
	report.Infof("Create Store: local")
	report.Infof("Number of GPUs being used: 0")
	report.Infof("The default executor is <PCAExecutor on cpu(0)>.")

	// A host that has little to read, or nothing, would wait for the others' reading otherwise.
	if err := job.Cluster.Connect(ctx); err != nil {
		return err
	}
	stats, err := observe(ctx, job.Channel("train"), p, report, began)
	if err != nil {
		return err
	}
	began = time.Now()
	n, mean, outer, err := stats.reduce(ctx, &job.Cluster)
	if err != nil {
		return err
	}
	model, explained, err := solve(n, mean, outer, p)
	if err != nil {
		return err
	}
	report.Timing("finalize.time", began)

	// All hosts have the same model; the leader saves it and says what it is worth. The model comes
	// before its score, so that a stop in between costs no model.
	if job.Cluster.Leader() {
		report.Quality("train explained_variance", "score", explained)
		began = time.Now()
		if err := job.Model.Save(ModelFile, model); err != nil {
			return err
		}
		report.Timing("model.serialize.time", began)
	}
	if err := score(ctx, job, model, p, report); err != nil {
		return err
	}
	report.Done()
	return nil
}

// observe sums the statistics of the channel's next epoch.
func observe(ctx context.Context, train *channel.Channel, p Params, report *algorithms.Report, began time.Time) (*scatter, error) {
	batching := p.Batching
	batching.MaxColumns = maxFeatures
	var stats scatter
	pass := algorithms.Pass{Began: time.Now()}
	for batch, err := range algorithms.Batches(ctx, train, batching) {
		if err != nil {
			return nil, err
		}
		if pass.Batches == 0 {
			if err := greet(batch, p, report); err != nil {
				return nil, err
			}
			report.Timing("initialize.time", began)
		}
		if err := stats.observe(ctx, batch); err != nil {
			return nil, err
		}
		pass.Add(batch)
	}
	report.Pass(train.Name, pass, 0, p.Epochs)
	return &stats, nil
}

// greet compares the hyperparameters with the first batch.
func greet(batch *algorithms.Batch, p Params, report *algorithms.Report) error {
	d := batch.X.Cols
	report.Infof("%d feature(s) found in 'data'.", d)
	report.Infof("<PCAExecutor on cpu(0)> is assigned to batch slice from 0 to %d.", p.MiniBatchSize-1)
	if d != p.FeatureDim {
		report.Warnf("The data have %d features where feature_dim is %d. Using %d.", d, p.FeatureDim, d)
	}
	if p.NumComponents > d {
		return algospec.ClientErrorf("hyperparameter num_components: %d: more than the %d features of the data", p.NumComponents, d)
	}
	return nil
}
