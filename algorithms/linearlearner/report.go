package linearlearner

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
)

// reportScaler prints what the scaler is, as Python prints it.
func (t *training) reportScaler(s *scaler) {
	label := func(x float32, p bool) string {
		if !p {
			return "None"
		}
		return "\n" + arrayText([]float32{x})
	}
	isRegressor := t.p.PredictorType == regressor
	t.report.Infof("Scaler algorithm parameters\n <linearlearner.scaler>")
	t.report.Infof("Scaling model computed with parameters:\n {'stdev_label': %s, 'stdev_weight': \n%s, 'mean_label': %s, 'mean_weight': \n%s}",
		label(s.LabelStd, isRegressor), arrayText(s.Std), label(s.LabelMean, isRegressor), arrayText(s.Mean))
}

// arrayText prints numbers as MXNet prints an array: the first and last three of very many.
func arrayText(numbers []float32) string {
	const most, ends, perLine = 1000, 3, 5
	var b strings.Builder
	b.WriteByte('[')
	for i, x := range numbers {
		if len(numbers) > most && i == ends {
			b.WriteString(" ...")
		}
		if len(numbers) > most && i >= ends && i < len(numbers)-ends {
			continue
		}
		switch {
		case i > 0 && i%perLine == 0:
			b.WriteString("\n ")
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatFloat(float64(x), 'e', 7, 32))
	}
	fmt.Fprintf(&b, "]\n<NDArray %d @cpu(0)>", len(numbers))
	return b.String()
}

// reportEpoch prints the lines of an epoch. Those of all hosts are the leader's.
func (t *training) reportEpoch(pass algorithms.Pass, train []float64, v *validation, criterion string, best float64, stop, improved bool) {
	r, objective := t.report, t.objective()
	if t.job.Cluster.Leader() {
		for m := range train {
			metrics := map[string]float64{"train_" + objective: train[m]}
			r.Metrics(time.Now(), algorithms.Dimensions{Epoch: &t.Epoch, Model: &m}, metrics)
			if v != nil {
				r.Metrics(time.Now(), algorithms.Dimensions{Epoch: &t.Epoch, Model: &m}, map[string]float64{"validation_" + objective: v.objective[m]})
			}
		}
		r.Quality(fmt.Sprintf("epoch=%d, train %s", t.Epoch, objective), "loss", train[0])
		if v != nil {
			r.Quality(fmt.Sprintf("epoch=%d, validation %s", t.Epoch, objective), "loss", v.objective[0])
		}
		r.Infof("#early_stopping_criteria_metric: host=%s, epoch=%d, criteria=%s, value=%v", r.Host, t.Epoch, criterion, best)
	}
	if improved {
		r.Infof("Epoch %d: Loss improved. Updating best model", t.Epoch)
	}
	r.Infof("Saving model for epoch: %d", t.Epoch)
	done := t.Epoch + 1
	if stop {
		r.Infof("Early stop condition met. Stopping training.")
		done = t.p.Epochs
	}
	r.Progress(done, t.p.Epochs)
	t.seen.Add(pass)
	r.Counts(algorithms.Dimensions{Epoch: &t.Epoch, Meta: "training_data_iter"}, t.seen, pass)
	r.Throughput(pass)
}

// reportScores prints what the model is worth on a channel.
func (t *training) reportScores(split string, s *scores) {
	if s == nil || !t.job.Cluster.Leader() {
		return
	}
	if s.rows == 0 {
		t.report.Warnf("The channel %s holds no record.", split)
		return
	}
	values := s.values(&t.p)
	for _, v := range values {
		t.report.Infof("#%s_score (%s) : ('%s', %v)", split, t.report.Host, v.name, v.number)
	}
	for _, v := range values {
		t.report.Quality(split+" "+v.name, v.kind, v.number)
	}
}

// done prints how long the parts of the run took.
func (t *training) done() {
	milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	t.report.Metrics(t.began, algorithms.Dimensions{}, map[string]float64{
		"setuptime": milliseconds(t.times.setup), "initialize.time": milliseconds(t.times.initialize), "epochs": float64(t.p.Epochs),
		"check_early_stopping.time": milliseconds(t.times.check.sum), "update.time": milliseconds(t.times.update.sum),
		"finalize.time": milliseconds(t.times.finalize), "totaltime": milliseconds(time.Since(t.began)),
	})
}

// Metrics returns the definitions of what Train prints for a platform to scrape (builtin-algorithms, 4.8).
func Metrics() []algospec.MetricDefinition {
	definitions := algorithms.Definitions()
	define := func(name, body string) {
		definitions = append(definitions, algospec.MetricDefinition{Name: name, Regex: `#quality_metric: host=\S+, ` + body + `=(\S+)`})
	}
	for _, split := range []string{"train", "validation", "test"} {
		if split != "test" {
			define(split+":objective_loss", `epoch=\S+, `+split+` \S+_objective <loss>`)
			define(split+":objective_loss:final", split+` \S+_objective <loss>`)
		} else {
			define("test:objective_loss", `test \S+_objective <loss>`)
		}
		for _, name := range []string{
			"binary_classification_accuracy", "precision", "recall", "roc_auc_score", "dcg", "macro_recall", "macro_precision", "multiclass_accuracy",
		} {
			define(split+":"+name, split+" "+name+" <score>")
		}
		define(split+":binary_f_beta", split+` binary_f_\S+ <score>`)
		define(split+":macro_f_beta", split+` macro_f_\S+ <score>`)
		define(split+":multiclass_top_k_accuracy", split+` multiclass_top_k_accuracy_\S+ <score>`)
		for _, name := range []string{"mse", "absolute_loss", "rmse"} {
			define(split+":"+name, split+" "+name+" <loss>")
		}
	}
	return definitions
}
