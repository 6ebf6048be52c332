package linearlearner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/recordio"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// A table is rows with their labels first.
type table [][]float32

// random returns rows of d features, most of which are 0 where sparse, and labels of the predictor type that a noisy linear
// function of them gives.
func random(predictorType string, n, d int, sparse bool, seed uint64) (rows table) {
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		row, sum := make([]float32, d+1), 0.2*r.NormFloat64()
		for j := 1; j <= d; j++ {
			if sparse && r.IntN(20) > 0 {
				continue
			}
			row[j] = float32(j%5) + float32(r.NormFloat64())
			mean := float64(j % 5)
			if sparse {
				mean = 0
			}
			sum += float64(j%3-1) * (float64(row[j]) - mean)
		}
		switch predictorType {
		case "regressor":
			row[0] = 100 + 7*float32(sum)
		case "binary_classifier":
			if sum > 0 {
				row[0] = 1
			}
		default:
			row[0] = min(3, max(0, float32(int(sum+2))))
		}
		rows = append(rows, row)
	}
	return rows
}

// encode returns the rows as RecordIO-protobuf, sparse ones without their zeros.
func (rows table) encode(t *testing.T, sparse bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for _, row := range rows {
		if !sparse {
			require.NoError(t, w.WriteRow(row[1:], row[0]))
			continue
		}
		out := recordio.Row{Columns: len(row) - 1, Keys: []int32{}, Label: row[:1]}
		for j, x := range row[1:] {
			if x != 0 {
				out.Keys, out.Values = append(out.Keys, int32(j)), append(out.Values, x)
			}
		}
		require.NoError(t, w.WriteSparseRow(out.Columns, out.Keys, out.Values, out.Label...))
	}
	require.NoError(t, w.Flush())
	return b.Bytes()
}

func (rows table) features() compute.Matrix {
	x := blas32.General{Rows: len(rows), Cols: len(rows[0]) - 1, Stride: len(rows[0]) - 1}
	for _, row := range rows {
		x.Data = append(x.Data, row[1:]...)
	}
	return compute.Matrix{X: x}
}

func parse(t *testing.T, m hyperparams.Map) linearlearner.Params {
	t.Helper()
	p, err := hyperparams.Parse[linearlearner.Params](m)
	require.NoError(t, err)
	return p
}

// Defaults of the container, as its log printed them.
func TestDefaultsAreThoseOfTheContainer(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testenv.Shared(t), "golden", "sagemaker-models", "defaults.json"))
	require.NoError(t, err)
	var all map[string]struct{ Defaults hyperparams.Map }
	require.NoError(t, json.Unmarshal(text, &all))
	got := hyperparams.Defaults[linearlearner.Params]()
	for _, ours := range []string{"_seed", "_average_weights", "_exact", "_sample_weights", "_feature_names"} {
		delete(got, ours)
	}
	require.Equal(t, all["Linear Learner"].Defaults, got)
}

func TestHyperparametersOfOneTypeAreRefusedForAnother(t *testing.T) {
	for want, m := range map[string]hyperparams.Map{
		"hyperparameter loss: logistic: not a loss of predictor_type regressor, which has [squared_loss absolute_loss eps_insensitive_squared_loss eps_insensitive_absolute_loss quantile_loss huber_loss]": {
			"predictor_type": "regressor", "loss": "logistic"},
		"hyperparameter loss: softmax_loss: not a loss of predictor_type binary_classifier, which has [logistic hinge_loss]": {
			"predictor_type": "binary_classifier", "loss": "softmax_loss"},
		"No value(s) were specified for 'num_classes' which are required hyperparameter(s)": {"predictor_type": "multiclass_classifier"},
		"hyperparameter num_classes: 4: only predictor_type multiclass_classifier has classes to count; leave it out": {
			"predictor_type": "binary_classifier", "num_classes": "4"},
		`hyperparameter optimizer: "adagrad": must be one of sgd, adam, rmsprop or auto`: {"predictor_type": "regressor", "optimizer": "adagrad"},
	} {
		_, err := hyperparams.Parse[linearlearner.Params](m)
		require.EqualError(t, err, want)
	}
}

// Every loss of every type learns what there is to learn, with every optimizer, and from rows that come sparse the same as from dense ones.
func TestEveryLossLearns(t *testing.T) {
	for _, c := range []struct {
		predictorType, loss, series string
		best                        float64
	}{
		{"binary_classifier", "logistic", "test binary_classification_accuracy <score>", 0.87},
		{"binary_classifier", "hinge_loss", "test binary_classification_accuracy <score>", 0.87},
		{"multiclass_classifier", "softmax_loss", "test multiclass_accuracy <score>", 0.75},
		{"regressor", "squared_loss", "test r2 <loss>", 0.9},
		{"regressor", "absolute_loss", "test r2 <loss>", 0.9},
		{"regressor", "eps_insensitive_squared_loss", "test r2 <loss>", 0.9},
		{"regressor", "eps_insensitive_absolute_loss", "test r2 <loss>", 0.9},
		{"regressor", "quantile_loss", "test r2 <loss>", 0.9},
		{"regressor", "huber_loss", "test r2 <loss>", 0.9},
	} {
		for _, sparse := range []bool{false, true} {
			for _, optimizer := range []string{"adam", "sgd", "rmsprop"} {
				if sparse && optimizer != "adam" {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, sparse %v", c.loss, optimizer, sparse), func(t *testing.T) {
					d := 6
					if sparse {
						d = 40
					}
					m := hyperparams.Map{"predictor_type": c.predictorType, "loss": c.loss, "optimizer": optimizer, "mini_batch_size": "20", "epochs": "6", "num_models": "8"}
					if c.predictorType == "multiclass_classifier" {
						m["num_classes"] = "4"
					}
					if optimizer == "sgd" {
						m["momentum"], m["bias_lr_mult"] = "0.5", "1"
					}
					rows, test := random(c.predictorType, 1000, d, sparse, 1), random(c.predictorType, 500, d, sparse, 2)
					model, log := train(t, m, "", map[string][]byte{"train": rows.encode(t, sparse), "test": test.encode(t, sparse)})
					best := c.best
					if sparse {
						best -= 0.1
					}
					require.Greater(t, quality(t, log, c.series), best)
					require.Equal(t, c.loss, model.Loss)
					if !sparse {
						return
					}
					same, _ := train(t, m, "", map[string][]byte{"train": rows.encode(t, false), "test": test.encode(t, false)})
					require.Equal(t, model, same)
				})
			}
		}
	}
}

// Plain gradient descent diverges with the greater weight decays of the grid; the other models are not worse for it.
func TestModelsThatDivergeAreLeftOut(t *testing.T) {
	rows := random("binary_classifier", 1000, 4, false, 16)
	p := linearlearner.Params{PredictorType: "binary_classifier", MiniBatchSize: 20, Epochs: 3, Loss: hyperparams.Fixed("hinge_loss"), Optimizer: hyperparams.Fixed("sgd")}
	model, err := linearlearner.Fit(t.Context(), channel.Memory(rows.encode(t, false)), p)
	require.NoError(t, err)
	right := 0
	for i, prediction := range model.Predict(rows.features()) {
		if prediction.PredictedLabel == rows[i][0] {
			right++
		}
	}
	require.Greater(t, right, 900)
	p.NumModels, p.LearningRate, p.WD = hyperparams.Fixed(1), hyperparams.Fixed(10.0), hyperparams.Fixed(100.0)
	_, err = linearlearner.Fit(t.Context(), channel.Memory(rows.encode(t, false)), p)
	require.EqualError(t, err, "the loss of every model is infinite or no number at the end of epoch 0: try a smaller learning_rate")
	require.True(t, algospec.IsClientError(err))
}

// stopAt calls stop when a channel has been read for so many bytes in all.
type stopAt struct {
	channel.Source
	mu   *sync.Mutex
	left *int
	stop func()
}

func (s stopAt) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	r, err := s.Source.Open(ctx, epoch)
	return stopReader{r, s}, err
}

type stopReader struct {
	io.ReadCloser
	s stopAt
}

func (r stopReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p[:min(len(p), 1000)])
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	*r.s.left -= n
	if *r.s.left < 0 {
		r.s.stop()
	}
	return n, err
}

// run trains on several hosts, each of which has its shard and all the validation data, and returns the model file.
func run(t *testing.T, ctx context.Context, m hyperparams.Map, shards []table, validation table, checkpoints string, wrap func(channel.Source) channel.Source) (model []byte, logs []string, err error) {
	t.Helper()
	hosts, errs, out := cluster.Loopback(len(shards)), make([]error, len(shards)), make([]bytes.Buffer, len(shards))
	dir := t.TempDir()
	var wait sync.WaitGroup
	for i := range shards {
		job := &algospec.Job{
			Host: fmt.Sprintf("algo-%d", i+1), Cluster: hosts[i], Model: algospec.Dir(dir), Stdout: &out[i], HyperParameters: m,
			CheckpointDir: algospec.Dir(checkpoints),
			Env:           func(key string) string { return map[string]string{"ALGOSPEC_CHECKPOINT_EVERY": "1ns"}[key] },
			Channels:      map[string]*channel.Channel{"train": {Name: "train", Source: wrap(channel.Memory(shards[i].encode(t, false)))}},
		}
		if validation != nil {
			job.Channels["validation"] = &channel.Channel{Name: "validation", Source: wrap(channel.Memory(validation.encode(t, false)))}
		}
		wait.Go(func() {
			defer job.Cluster.Close()
			errs[i] = algospec.Bind(linearlearner.Train)(ctx, job)
		})
	}
	wait.Wait()
	for i := range out {
		logs = append(logs, out[i].String())
	}
	model, readErr := os.ReadFile(filepath.Join(dir, linearlearner.ModelFile))
	if readErr != nil {
		model = nil
	}
	return model, logs, errors.Join(errs...)
}

func same(s channel.Source) channel.Source { return s }

// Wherever a job is stopped, and however often, its model is in the end that of one which was not, bit for bit.
func TestAJobGoesOnWhereItWasStopped(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := random("binary_classifier", 1000, 5, false, 4)
	validation := random("binary_classifier", 200, 5, false, 5)
	m := hyperparams.Map{"predictor_type": "binary_classifier", "mini_batch_size": "40", "epochs": "4", "num_models": "6"}
	for _, c := range []struct {
		name       string
		shards     []table
		validation table
	}{
		{"one host", []table{all}, nil},
		{"one host with validation", []table{all}, validation},
		{"three hosts of unlike shards", []table{all[:300], all[300:900], all[900:]}, validation},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, _, err := run(t, t.Context(), m, c.shards, c.validation, "", same)
			require.NoError(t, err)
			size := 0
			for _, s := range c.shards {
				size += 6 * len(s.encode(t, false)) // passes
			}
			checkpoints := t.TempDir()
			stops := 0
			for {
				ctx, cancel := context.WithCancelCause(t.Context())
				left, mu := r.IntN(size), new(sync.Mutex)
				if stops == 4 {
					left = 1 << 60
				}
				got, logs, err := run(t, ctx, m, c.shards, c.validation, checkpoints, func(s channel.Source) channel.Source {
					return stopAt{s, mu, &left, func() { cancel(algospec.ErrStopped) }}
				})
				cut := errors.Is(context.Cause(ctx), algospec.ErrStopped)
				cancel(nil)
				if !cut {
					require.NoError(t, err)
					require.True(t, bytes.Equal(want, got), "another model")
					break
				}
				stops++
				if err != nil {
					require.ErrorIs(t, err, algospec.ErrStopped)
				}
				if got == nil {
					require.True(t, strings.Contains(logs[0], "Stopped, and there is no model"), "host 1 says nothing")
				} else {
					var model linearlearner.Model
					_, err := model.ReadFrom(bytes.NewReader(got))
					require.NoError(t, err)
				}
			}
		})
	}
}

// Hosts take steps together, so that three of a third of the batch make the model of one, but for the rounding of sums in another
// order, where each has every third batch.
func TestThreeHostsMakeTheModelOfOne(t *testing.T) {
	rows := random("binary_classifier", 900, 5, false, 6)
	shards := make([]table, 3)
	for i, row := range rows {
		shards[i/20%3] = append(shards[i/20%3], row)
	}
	m := hyperparams.Map{"predictor_type": "binary_classifier", "mini_batch_size": "60", "epochs": "3", "num_models": "4"}
	validation := random("binary_classifier", 300, 5, false, 7)
	one, _, err := run(t, t.Context(), m, []table{rows}, validation, "", same)
	require.NoError(t, err)
	each := maps.Clone(m)
	each["mini_batch_size"] = "20"
	three, logs, err := run(t, t.Context(), each, shards, validation, "", same)
	require.NoError(t, err)
	var want, got linearlearner.Model
	_, err = want.ReadFrom(bytes.NewReader(one))
	require.NoError(t, err)
	_, err = got.ReadFrom(bytes.NewReader(three))
	require.NoError(t, err)
	require.InDeltaSlice(t, want.Weights.Data, got.Weights.Data, 1e-3)
	require.InDelta(t, want.Threshold, got.Threshold, 1e-3)
	require.Contains(t, logs[0], "train binary_classification_accuracy")
	require.NotContains(t, logs[1], "train binary_classification_accuracy")
}

func TestFitAndPredict(t *testing.T) {
	rows := random("binary_classifier", 2000, 6, false, 8)
	source := channel.Memory(rows.encode(t, false))
	model, err := linearlearner.Fit(t.Context(), source, linearlearner.Params{PredictorType: "binary_classifier", MiniBatchSize: 100})
	require.NoError(t, err)
	right := 0
	for i, p := range model.Predict(rows.features()) {
		if p.PredictedLabel == rows[i][0] {
			right++
		}
	}
	require.Greater(t, right, 1800)
	// The zero value is every default.
	parsed, err := linearlearner.FitChannels(t.Context(), parse(t, hyperparams.Map{"predictor_type": "binary_classifier", "mini_batch_size": "100"}),
		&channel.Channel{Name: "train", Source: source}, nil)
	require.NoError(t, err)
	require.Equal(t, parsed, model)
	_, err = linearlearner.Fit(t.Context(), source, linearlearner.Params{})
	require.ErrorContains(t, err, `no predictor_type ""`)
}

// Labels that the type has not are named with their record.
func TestABadLabelIsNamed(t *testing.T) {
	rows := random("binary_classifier", 100, 2, false, 9)
	rows[41][0] = 2
	_, err := linearlearner.Fit(t.Context(), channel.Memory(rows.encode(t, false)), linearlearner.Params{PredictorType: "binary_classifier", MiniBatchSize: 10})
	require.EqualError(t, err, "channel train: record 41: the label is 2, want 0 or 1")
	require.True(t, algospec.IsClientError(err))
}

// What no memory could hold is refused before it is taken.
func TestModelsWithoutEndAreRefused(t *testing.T) {
	rows := random("binary_classifier", 20, 3, false, 9)
	p := linearlearner.Params{PredictorType: "binary_classifier", MiniBatchSize: 10, NumModels: hyperparams.Fixed(1 << 60)}
	_, err := linearlearner.Fit(t.Context(), channel.Memory(rows.encode(t, false)), p)
	require.ErrorContains(t, err, "hyperparameter num_models: 1152921504606846976 models of 1 features and 1 outputs take")
	require.True(t, algospec.IsClientError(err))

	// The width of a sparse record is a number that anybody can write.
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for range 10 {
		require.NoError(t, w.WriteSparseRow(1<<30, []int32{1}, []float32{1}, 1))
	}
	require.NoError(t, w.Flush())
	_, err = linearlearner.Fit(t.Context(), channel.Memory(b.Bytes()), linearlearner.Params{PredictorType: "binary_classifier", MiniBatchSize: 10})
	require.ErrorContains(t, err, "1073741824 features, more than the 4194304 that the algorithm takes")
}

// Rows of label 1 that weigh more are predicted more often.
func TestPositiveExamplesThatWeighMore(t *testing.T) {
	var rows table
	for i, row := range random("binary_classifier", 3000, 4, false, 10) {
		if row[0] == 0 || i%8 == 0 {
			for j := range row[1:] {
				row[j+1] += float32(i%7) / 2 // noise
			}
			rows = append(rows, row)
		}
	}
	recall := func(weight string) float64 {
		m := hyperparams.Map{
			"predictor_type": "binary_classifier", "mini_batch_size": "50", "epochs": "5", "num_models": "2",
			"positive_example_weight_mult": weight, "binary_classifier_model_selection_criteria": "loss_function",
		}
		_, log := train(t, m, "", map[string][]byte{"train": rows.encode(t, false), "validation": rows.encode(t, false)})
		return quality(t, log, "train recall <score>")
	}
	require.Greater(t, recall("balanced"), recall("1")+0.05)
	require.Greater(t, recall("30"), recall("3"))
}

// Thresholds meet the targets on the validation data.
func TestTargetsAreMet(t *testing.T) {
	train0, validation := random("binary_classifier", 2000, 4, false, 11), random("binary_classifier", 1000, 4, false, 12)
	for i := range validation {
		if i%10 == 0 {
			validation[i][0] = 1 - validation[i][0]
		}
	}
	for criterion, series := range map[string]string{
		"precision_at_target_recall": "validation recall <score>", "recall_at_target_precision": "validation precision <score>",
	} {
		m := hyperparams.Map{
			"predictor_type": "binary_classifier", "mini_batch_size": "50", "epochs": "3", "num_models": "4",
			"binary_classifier_model_selection_criteria": criterion, "target_recall": "0.9", "target_precision": "0.9",
		}
		_, log := train(t, m, "", map[string][]byte{"train": train0.encode(t, false), "validation": validation.encode(t, false)})
		require.GreaterOrEqual(t, quality(t, log, series), 0.9)
		require.Less(t, quality(t, log, series), 0.93)
		requireLine(t, log, "criteria=sampled_"+criterion)
	}
}

// Each definition that has a series in this run finds it.
func TestMetricDefinitionsFindTheirLines(t *testing.T) {
	rows := random("multiclass_classifier", 600, 4, false, 13).encode(t, false)
	_, log := train(t, hyperparams.Map{"predictor_type": "multiclass_classifier", "num_classes": "4", "mini_batch_size": "50", "epochs": "2"}, "",
		map[string][]byte{"train": rows, "validation": rows, "test": rows})
	_, binary := train(t, hyperparams.Map{"predictor_type": "binary_classifier", "mini_batch_size": "50", "epochs": "2"}, "", func() map[string][]byte {
		rows := random("binary_classifier", 600, 4, false, 14).encode(t, false)
		return map[string][]byte{"train": rows, "validation": rows, "test": rows}
	}())
	_, regressor := train(t, hyperparams.Map{"predictor_type": "regressor", "mini_batch_size": "50", "epochs": "2"}, "", func() map[string][]byte {
		rows := random("regressor", 600, 4, false, 15).encode(t, false)
		return map[string][]byte{"train": rows, "validation": rows, "test": rows}
	}())
	for _, d := range linearlearner.Metrics() {
		found := false
		for _, text := range []string{log, binary, regressor} {
			found = found || regexp.MustCompile(d.Regex).MatchString(text)
		}
		require.True(t, found, "%s: %s", d.Name, d.Regex)
	}
}
