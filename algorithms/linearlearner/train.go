package linearlearner

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
)

// ModelFile is the name of the model in the model directory.
const ModelFile = "model_algo-1"

// Train reads the channel train, once for the scaler, once for each epoch, and once for the scores of the model; the channel
// validation, if there is one, after each epoch; and at the end the channel test, if there is one. It saves the model and logs
// what the original logs.
//
// Where the platform keeps checkpoints, a job that starts again goes on from the newest snapshot, and its model is the same, bit for
// bit. A job that is stopped saves the best model so far.
func Train(ctx context.Context, job *algospec.Job, p Params) error {
	if _, err := compute.Select(""); err != nil { // which compute.Default would only log
		return err
	}
	_, err := train(ctx, job, p)
	return err
}

func train(ctx context.Context, job *algospec.Job, p Params) (*Model, error) {
	t := newTraining(job, p)
	t.report.Infof("Create Store: %s", map[bool]string{true: "local", false: "dist_sync"}[job.Cluster.Size() == 1])

	// A host that has little to read, or nothing, would wait for the others' reading otherwise.
	if err := job.Cluster.Connect(ctx); err != nil {
		return nil, err
	}
	save, cancel := job.SaveContext(ctx)
	defer cancel()
	t.times.setup = time.Since(t.began)
	model, err := t.run(ctx, save)
	if err == nil || !stopped(ctx) {
		return model, err
	}
	if _, lost := errors.AsType[*cluster.LostError](err); !lost && !errors.Is(err, algospec.ErrStopped) {
		return nil, err
	}
	return t.salvage(ctx)
}

// A training is one run of Train.
type training struct {
	job      *algospec.Job
	p        Params
	report   *algorithms.Report
	engine   compute.Engine
	began    time.Time
	batching algorithms.Batching // of the channel train; FeatureDim is known once the sample is read

	state
	validates     bool // whether a host has the channel validation
	settings      []Setting
	snapshots     *algorithms.Snapshots
	seen          algorithms.Counts
	rates         []float64
	sums          []float64 // of several hosts
	weights       []float32 // of a batch's rows, with those of their classes
	sampleWeights []float32 // of the rows of the batch whose labels were checked last; nil where all are 1

	library bool   // nothing is saved
	model   *Model // that is in the model directory, or would be
	times   timings
}

func newTraining(job *algospec.Job, p Params) *training {
	t := &training{job: job, p: p, engine: compute.Default(), began: time.Now()}
	t.report = algorithms.NewReport(job, "Linear Learner", hyperparams.Defaults[Params]())
	t.batching = algorithms.Batching{MiniBatchSize: p.MiniBatchSize, Sparse: true}
	if t.batching.FeatureDim = p.FeatureDim.Or(0); p.FeatureDim.IsAuto() {
		t.batching.MaxColumns = max(1, int(maxAutoNumbers/(float64(p.outputs())*float64(p.models()))))
	}
	return t
}

// run trains, saves the model, and scores it.
func (t *training) run(ctx, save context.Context) (*Model, error) {
	var err error
	if t.validates, err = t.any(ctx, "validation"); err != nil {
		return nil, err
	}
	if t.p.Exact {
		err = t.solve(ctx)
	} else {
		err = t.train(ctx, save)
	}
	if err != nil {
		return nil, err
	}
	model, err := t.finish(ctx)
	if err != nil {
		return nil, err
	}
	t.done()
	return model, nil
}

// train trains from where the newest snapshot ends.
func (t *training) train(ctx, save context.Context) (err error) {
	t.snapshots, err = algorithms.Resume(ctx, t.job, &t.state, algorithms.SnapshotOptions{})
	if err != nil {
		return err
	}
	err = t.learn(ctx)
	if stopped(ctx) && errors.Is(err, algospec.ErrStopped) {
		err = cmp.Or(t.snapshots.Final(save), err)
	}
	return cmp.Or(err, t.snapshots.Close(save))
}

// any reports whether a host has the channel: those of some instance groups may lack it.
func (t *training) any(ctx context.Context, channel string) (bool, error) {
	hosts := []float64{0}
	if t.job.Channels[channel] != nil {
		hosts[0] = 1
	}
	err := t.job.Cluster.AllReduce(ctx, hosts)
	return hosts[0] > 0, err
}

// learn reads the sample and trains, from where the snapshot ends.
func (t *training) learn(ctx context.Context) error {
	if err := t.p.checkSize(t.p.FeatureDim.Or(1)); err != nil {
		return err
	}
	if t.Scaler == nil {
		if err := t.readSample(ctx); err != nil {
			return err
		}
	}
	if err := t.start(); err != nil {
		return err
	}
	for !t.Finished {
		if err := t.epoch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readSample reads the first rows of the channel train, in whole batches, for the scaler. It is the first pass over the channel.
func (t *training) readSample(ctx context.Context) error {
	var s sample
	if t.p.PredictorType != regressor {
		s.classes = make([]float64, max(2, t.p.NumClasses))
	}
	train := t.job.Channel("train")
	pass := algorithms.Pass{Began: time.Now()}
	for batch, err := range algorithms.Batches(ctx, train, t.batching) {
		if err != nil {
			return err
		}
		pass.Add(batch)
		if err := t.checkLabels(train.Name, batch); err != nil {
			return err
		}
		if batch.Rows() == t.p.MiniBatchSize {
			s.observe(batch)
			for _, w := range t.sampleWeights {
				s.weight += float64(w)
			}
		}
		// The original counts the batch that it looks at beforehand, too.
		if pass.Records+int64(t.p.MiniBatchSize) > int64(t.p.NumPointForScaler) {
			break
		}
	}
	scaler, err := s.reduce(ctx, &t.job.Cluster, &t.p)
	if err != nil {
		return err
	}
	if scaler == nil && pass.Records > 0 {
		return algospec.ClientErrorf("channel train: %d records are fewer than mini_batch_size, %d: there is no whole batch to train on", pass.Records, t.p.MiniBatchSize)
	}
	if scaler == nil {
		return algospec.ClientErrorf("channel train: %w", errNoRecords)
	}
	if err := checkNames(t.p.FeatureNames, len(scaler.Mean)); err != nil {
		return err
	}
	t.Scaler = scaler
	t.reportScaler(scaler)
	t.seen.Add(pass)
	t.report.Infof("Number of GPUs being used: 0")
	t.report.Counts(algorithms.Dimensions{Meta: "init_train_data_iter"}, t.seen, pass)
	t.times.initialize = time.Since(t.began)
	return nil
}

// start makes the models: those of the snapshot, or new ones.
func (t *training) start() error {
	d, outputs := len(t.Scaler.Mean), t.p.outputs()
	t.batching.FeatureDim, t.batching.MaxColumns, t.batching.Sparse = d, 0, t.Scaler.Sparse
	if t.p.PositiveExampleWeightMult.Word == "auto" && !t.validates {
		t.report.Warnf("positive_example_weight_mult is auto, and there is no validation data to choose it by: it is balanced, %v.", t.Scaler.Balanced)
	}
	if err := t.p.checkSize(d); err != nil {
		return err
	}
	t.settings = t.p.settings(t.Scaler.Balanced, t.validates)
	t.linear = t.engine.NewLinear(t.p.linear(d, t.settings, t.Scaler.shift()))
	if loaded := t.loaded; loaded.Weights != nil {
		if want := (d + 1) * outputs * len(t.settings); len(loaded.Weights) != want {
			return algospec.ClientErrorf("channel train: the snapshot that the job goes on from has %d numbers, want %d", len(loaded.Weights), want)
		}
		t.linear.SetState(&loaded)
		t.loaded = compute.LinearState{}
		t.report.Infof("Going on in epoch %d, from the snapshot of step %d.", t.Epoch, t.snapshots.Step())
	} else {
		t.initialize()
	}
	t.rates = make([]float64, len(t.settings))
	if t.job.Cluster.Size() > 1 {
		t.sums = make([]float64, t.linear.SumsLen()+1)
	}
	return nil
}

// maxNumbers bounds the weights of all models, of which there are five copies or more, to 2 GiB each; where feature_dim is auto, and a
// record's word is all there is for the width, to 512 MiB each.
const (
	maxNumbers     = 1 << 29
	maxAutoNumbers = 1 << 27
)

// checkSize refuses models that are too large.
func (p *Params) checkSize(d int) error {
	if numbers := float64(d+1) * float64(p.outputs()) * float64(p.models()); numbers > maxNumbers {
		return algospec.ClientErrorf("hyperparameter num_models: %d models of %d features and %d outputs take %.3g numbers, more than %.3g",
			p.models(), d, p.outputs(), numbers, float64(maxNumbers))
	}
	return nil
}

// linear returns the configuration of the models.
func (p *Params) linear(d int, settings []Setting, shift []float32) compute.LinearConfig {
	c := compute.LinearConfig{
		Features: d, Outputs: p.outputs(),
		Optimizer: map[string]compute.Optimizer{"adam": compute.Adam, "sgd": compute.SGD, "rmsprop": compute.RMSProp}[p.Optimizer.Or("adam")],
		Beta1:     p.Beta1.Or(0.9), Beta2: p.Beta2.Or(0.999), Momentum: p.Momentum.Or(0),
		Average: p.Average.Or(true), NoBias: !p.UseBias.Or(true), BiasRate: p.BiasLRMult.Or(10), Shift: shift,
	}
	if c.Optimizer == compute.RMSProp {
		c.Beta2 = p.Beta2.Or(0.9) // MXNet's gamma1
	}
	c.Loss, c.Parameter = p.kernel()
	for _, s := range settings {
		c.Models = append(c.Models, compute.LinearModel{
			Decay: s.WD, L1: s.L1, BiasDecay: s.WD * p.BiasWDMult.Or(0), Positive: s.positive,
		})
	}
	return c
}

// kernel returns the loss as the engine has it.
func (p *Params) kernel() (loss compute.Loss, parameter float64) {
	switch p.loss() {
	case "hinge_loss":
		return compute.Hinge, p.Margin.Or(1)
	case "softmax_loss":
		return compute.Softmax, 0
	case "squared_loss":
		return compute.Squared, 0
	case "absolute_loss":
		return compute.Absolute, 0
	case "eps_insensitive_squared_loss":
		return compute.SquaredInsensitive, p.LossInsensitivity
	case "eps_insensitive_absolute_loss":
		return compute.AbsoluteInsensitive, p.LossInsensitivity
	case "quantile_loss":
		return compute.Quantile, p.Quantile
	case "huber_loss":
		return compute.Huber, p.HuberDelta.Or(1)
	}
	return compute.Logistic, 0
}

// initialize makes the first weights, the same on all hosts.
func (t *training) initialize() {
	var s compute.LinearState
	t.linear.State(&s)
	random := rand.New(rand.NewPCG(uint64(t.p.Seed), 0))
	columns := len(t.settings) * t.p.outputs()
	weights, bias := s.Weights[:len(s.Weights)-columns], s.Weights[len(s.Weights)-columns:]
	for i := range weights {
		if t.p.InitMethod == "normal" {
			weights[i] = float32(random.NormFloat64() * t.p.InitSigma)
		} else {
			weights[i] = float32((2*random.Float64() - 1) * t.p.InitScale)
		}
	}
	for k := range bias {
		if t.p.UseBias.Or(true) {
			bias[k] = float32(t.p.InitBias)
		}
	}
	t.linear.SetState(&s)
	t.Schedules = make([]schedule, len(t.settings))
	for m, s := range t.settings {
		t.Schedules[m].Rate = s.LearningRate
	}
	t.Losses = make([]float64, len(t.settings))
	t.Stopping = algorithms.EarlyStopping{Patience: t.p.EarlyStoppingPatience, Tolerance: t.p.EarlyStoppingTol, Maximize: t.maximize()}
}

// epoch trains on the rest of the epoch that the state is in, compares the models, and goes to the next one.
func (t *training) epoch(ctx context.Context) error {
	pass := algorithms.Pass{Began: time.Now()}
	if err := t.read(ctx, &pass); err != nil {
		return err
	}
	if t.Rows == 0 {
		return algospec.ClientErrorf("channel train: epoch %d has no whole batch of %d records", t.Epoch, t.p.MiniBatchSize)
	}
	t.times.update.add(time.Since(pass.Began))
	return t.compare(ctx, pass)
}

// read makes the updates of an epoch. Hosts whose data are at their end go on with nothing until those of all are.
func (t *training) read(ctx context.Context, pass *algorithms.Pass) error {
	train := t.job.Channel("train")
	from := t.snapshots.Position(train.Name)
	if from.Epoch != t.Epoch+1 { // epoch 0 of the channel was the sample
		from = checkpoint.Position{Channel: train.Name, Epoch: t.Epoch + 1}
	}
	pass.Records, pass.Before = from.Records, from.Records
	for batch, err := range algorithms.BatchesFrom(ctx, train, t.batching, from) {
		if err != nil {
			return err
		}
		pass.Add(batch)
		if batch.Rows() < t.p.MiniBatchSize {
			continue
		}
		if err := t.checkLabels(train.Name, batch); err != nil {
			return err
		}
		if _, err := t.step(ctx, batch); err != nil {
			return err
		}
		from = batch.End()
		if err := t.snapshots.Offer(ctx, from); err != nil {
			return err
		}
	}
	for t.sums != nil {
		if more, err := t.step(ctx, nil); err != nil || !more {
			return err
		}
		if err := t.snapshots.Offer(ctx, from); err != nil {
			return err
		}
	}
	return nil
}

// step makes one update, by the batches of all hosts, of which this host's may be nil. It reports false, and makes none, where
// no host has one. After an error the state is that before the step.
func (t *training) step(ctx context.Context, batch *algorithms.Batch) (bool, error) {
	rows := 0.0
	if batch != nil {
		rows = float64(batch.Rows())
		t.Scaler.apply(batch)
		t.Scaler.applyLabels(batch)
		t.linear.Gradient(compute.Of(batch), batch.Labels, t.rowWeights(batch))
	}
	if t.sums != nil {
		n := t.linear.SumsLen()
		t.linear.Sums(t.sums)
		t.sums[n] = rows
		if err := t.job.Cluster.AllReduce(ctx, t.sums); err != nil {
			return false, err
		}
		t.linear.SetSums(t.sums[:n])
		rows = t.sums[n]
	}
	if rows == 0 {
		return false, nil
	}
	t.Step++
	for m := range t.rates {
		t.rates[m] = t.settings[m].LearningRate
		if t.p.UseLRScheduler.Or(true) {
			t.rates[m] = t.Schedules[m].next(t.Step, t.settings[m])
		}
		if t.settings[m].Optimizer == "adam" {
			t.rates[m] *= correction(t.Step, t.p.Beta1.Or(0.9), t.p.Beta2.Or(0.999))
		}
	}
	for m, loss := range t.linear.Update(1/rows, t.rates, averageShare(t.Step)) {
		t.Losses[m] += loss
	}
	t.Rows += rows
	return true, nil
}

// averageShare is how far update t moves the average of the weights towards them: polynomial-decay averaging (Shamir and Zhang
// 2013), which is mostly of the last ninth of all updates, however many these are.
func averageShare(t int64) float64 {
	const eta = 8
	return (eta + 1) / (float64(t) + eta)
}

// rowWeights returns the weights of a batch's rows, nil where all are 1.
func (t *training) rowWeights(batch *algorithms.Batch) []float32 {
	if t.Scaler.ClassWeights == nil {
		return t.sampleWeights
	}
	t.weights = t.weights[:0]
	for i, y := range batch.Labels {
		weight := t.Scaler.ClassWeights[int(y)]
		if t.sampleWeights != nil {
			weight *= t.sampleWeights[i]
		}
		t.weights = append(t.weights, weight)
	}
	return t.weights
}

// scorePosition returns where the pass of a channel begins that scores the model, after those of training.
func (t *training) scorePosition(channel string) checkpoint.Position {
	if t.p.Exact { // has no snapshots, and reads the next epoch always
		return checkpoint.Position{}
	}
	passes := map[string]int{"train": t.Epoch + 1, "validation": t.Epoch}
	return checkpoint.Position{Channel: channel, Epoch: passes[channel]}
}

// save saves the model. All hosts have the same one; the leader saves it.
func (t *training) save(m *Model) error {
	t.model = m
	if !t.job.Cluster.Leader() || t.library {
		return nil
	}
	return t.job.Model.Save(ModelFile, m)
}

// finish saves the best model, chooses its threshold, saves it with that, and scores it. The model comes before, so
// that a stop in between costs no model.
func (t *training) finish(ctx context.Context) (*Model, error) {
	began := time.Now()
	model := t.bestModel()
	if err := t.save(model); err != nil {
		return nil, err
	}
	if err := t.score(ctx, model); err != nil {
		return nil, err
	}
	t.report.Infof("Best model found for hyperparameters: %s", algorithms.PythonJSON(t.settings[t.Best.Model]))
	t.saveCoefficients(model)
	t.savePictures()
	if err := t.test(ctx, model); err != nil {
		return nil, err
	}
	t.times.finalize = time.Since(began)
	return model, nil
}

// salvage saves what a stopped job has: the best model of the epochs that are over, or else the one whose loss is the least so far.
func (t *training) salvage(ctx context.Context) (*Model, error) {
	switch {
	case t.model != nil:
		t.report.Infof("Stopped while the model was scored. The model is the best of %d epochs, with the threshold %v.", t.Epoch, t.model.Threshold)
		return t.model, t.save(t.model)
	case !t.Best.Any && (t.linear == nil || t.Rows == 0):
		t.report.Warnf("Stopped, and there is no model: no batch has been learned from.")
		return nil, context.Cause(ctx)
	case t.Best.Any:
		t.report.Infof("Stopped in epoch %d. The model is model %d of epoch %d, whose criterion is %v.", t.Epoch, t.Best.Model, t.Best.Epoch, t.Best.Value)
	default:
		minimize := algorithms.EarlyStopping{}
		t.Stopping = minimize
		best := t.bestOf(t.Losses)
		if best < 0 {
			t.report.Warnf("Stopped, and there is no model: the loss of every one is infinite or no number.")
			return nil, context.Cause(ctx)
		}
		t.best = t.weightsOf(best, t.best)
		t.Best.Model = best
		t.report.Infof("Stopped in epoch 0, after %v records. The model is the one whose loss is the least so far.", t.Rows)
	}
	model := t.bestModel()
	return model, t.save(model)
}

func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), algospec.ErrStopped) }

// timings are how long the parts of a run took.
type timings struct {
	setup, initialize, finalize time.Duration
	update, check               durations
}

type durations struct {
	sum, min, max time.Duration
	count         int
}

func (d *durations) add(took time.Duration) {
	if d.count == 0 || took < d.min {
		d.min = took
	}
	d.sum, d.max, d.count = d.sum+took, max(d.max, took), d.count+1
}
