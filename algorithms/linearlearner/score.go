package linearlearner

import (
	"context"
	"fmt"
	"math"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/channel"
)

// score chooses the model's threshold, on the channel validation or else train, saves the model with it, and reports what the
// model is worth on these channels, all rows of them.
func (t *training) score(ctx context.Context, model *Model) error {
	choose := t.p.PredictorType == binaryClassifier && t.p.criterion() != "loss_function"
	var validation *scores
	var err error
	if t.validates {
		if validation, err = t.pass(ctx, "validation", model, choose); err != nil {
			return err
		}
		choose = false
	}
	train, err := t.pass(ctx, "train", model, choose)
	if err != nil {
		return err
	}
	t.reportScores("train", train)
	t.reportScores("validation", validation)
	return nil
}

// test reports what the model is worth on the channel test, if there is one.
func (t *training) test(ctx context.Context, model *Model) error {
	tests, err := t.any(ctx, "test")
	if err != nil {
		return err
	}
	if !tests {
		t.report.Infof("Test data is not provided.")
		return nil
	}
	test, err := t.pass(ctx, "test", model, false)
	if err != nil {
		return err
	}
	t.reportScores("test", test)
	return nil
}

// A value is one number of a report: of kind loss or score.
type value struct {
	name, kind string
	number     float64
}

// scores are what a model is worth on a channel.
type scores struct {
	model   *Model
	rows    float64 // the sum of their weights
	loss    float64 // the objective, summed
	log     float64 // the loss without the weights of classes, summed
	ranking ranking // the first rows of binaryClassifier; of all hosts, on the leader
	auc     float64
	counts

	classes []float64 // rows labelled so, predicted so, both; one after the other, of multiclassClassifier
	top     float64   // rows whose class is one of the accuracy_top_k
	gain    float64   // Σ1/log2(1+rank of the class)

	absolute, square    float64 // Σ|e|, Σe²
	labels, labelsAbout float64 // Σ(y−mean), Σ(y−mean)² about the scaler's mean
}

// pass scores the rows of a channel on all hosts. Where it is to choose the threshold, it does when it has seen all rows of the sample
// that num_calibration_samples allows, and saves the model.
func (t *training) pass(ctx context.Context, name string, model *Model, choose bool) (*scores, error) {
	s := &scores{model: model}
	if model.PredictorType == multiclassClassifier {
		s.classes = make([]float64, 3*len(model.Bias))
	}
	limit := max(1, t.p.NumCalibrationSamples/t.job.Cluster.Size())
	settled := false
	settle := func() error {
		settled = true
		return t.settle(ctx, s, choose)
	}
	if c := t.job.Channels[name]; c != nil {
		z, out := make([]float64, len(model.Bias)), make([]float32, len(model.Bias))
		for batch, err := range t.batches(ctx, c) {
			if err != nil {
				return nil, err
			}
			if err := t.checkLabels(name, batch); err != nil {
				return nil, err
			}
			x := compute.Of(batch)
			for i, y := range batch.Labels {
				model.linear(z, x, i)
				model.score(out, z)
				weight := t.weightOf(i)
				t.addScore(s, z, out, y, weight)
				if model.PredictorType != binaryClassifier {
					continue
				}
				if s.ranking.n < limit && !settled {
					s.ranking.add(out[0], y, float32(weight))
					continue
				}
				if !settled {
					if err := settle(); err != nil {
						return nil, err
					}
				}
				s.counts.add(float64(out[0]) >= model.Threshold, y != 0, weight)
			}
		}
	}
	if !settled {
		if err := settle(); err != nil {
			return nil, err
		}
	}
	return s, t.reduceScores(ctx, s)
}

// batches are the rows of a channel's next epoch, as training has had them.
func (t *training) batches(ctx context.Context, c *channel.Channel) func(yield func(*algorithms.Batch, error) bool) {
	return algorithms.BatchesFrom(ctx, c, t.batching, t.scorePosition(c.Name))
}

// settle chooses the threshold by the scores of all hosts, and counts the rows of the sample with it.
func (t *training) settle(ctx context.Context, s *scores, choose bool) error {
	if s.model.PredictorType != binaryClassifier {
		return nil
	}
	all, err := t.gather(ctx, &s.ranking)
	if err != nil {
		return err
	}
	s.auc = all.auc()
	if choose {
		cut := []float64{neutral}
		if t.job.Cluster.Leader() {
			cut[0], _ = all.threshold(t.p.selection())
		}
		if err := t.job.Cluster.Broadcast(ctx, 0, cut); err != nil {
			return err
		}
		s.model.Threshold = cut[0]
		if err := t.save(s.model); err != nil {
			return err
		}
	}
	s.counts = s.ranking.count(s.model.Threshold)
	s.ranking = ranking{}
	return nil
}

// addScore adds a row to the sums.
func (t *training) addScore(s *scores, z []float64, out []float32, y float32, weight float64) {
	s.rows += weight
	loss, parameter := t.p.kernel()
	switch s.model.PredictorType {
	case binaryClassifier:
		at := z[0]
		if loss == compute.Hinge {
			at = 2*z[0] - 1 // as it was trained: see bestModel
		}
		value, _ := loss.At(at, float64(y), parameter)
		value *= weight
		s.log += value
		if y != 0 {
			value *= *s.model.Metrics.PositiveExampleWeightMult
		}
		s.loss += value
	case multiclassClassifier:
		t.addClasses(s, z, out, int(y), weight)
	default:
		e := z[0] - float64(y)
		value, _ := loss.At(z[0], float64(y), parameter)
		s.loss += weight * value
		s.absolute += weight * math.Abs(e)
		s.square += weight * e * e
		about := float64(y) - float64(t.Scaler.LabelMean)
		s.labels += weight * about
		s.labelsAbout += weight * about * about
	}
}

func (t *training) addClasses(s *scores, z []float64, out []float32, class int, weight float64) {
	value := weight * crossEntropy(z, class)
	s.log += value
	if t.Scaler.ClassWeights != nil {
		value *= float64(t.Scaler.ClassWeights[class])
	}
	s.loss += value
	rank, n := 1, len(out)
	for k, v := range z {
		if v > z[class] || v == z[class] && k < class {
			rank++
		}
	}
	predicted := int(s.model.label(out))
	s.classes[class] += weight
	s.classes[n+predicted] += weight
	if predicted == class {
		s.classes[2*n+class] += weight
	}
	if rank <= t.p.AccuracyTopK {
		s.top += weight
	}
	s.gain += weight / math.Log2(1+float64(rank))
}

// reduceScores adds up those of all hosts.
func (t *training) reduceScores(ctx context.Context, s *scores) error {
	numbers := []*float64{
		&s.rows, &s.loss, &s.log, &s.tp, &s.fp, &s.tn, &s.fn, &s.top, &s.gain, &s.absolute, &s.square, &s.labels, &s.labelsAbout,
	}
	var totals []float64
	for _, x := range numbers {
		totals = append(totals, *x)
	}
	totals = append(totals, s.classes...)
	if err := t.job.Cluster.AllReduce(ctx, totals); err != nil {
		return err
	}
	for i, x := range numbers {
		*x = totals[i]
	}
	copy(s.classes, totals[len(numbers):])
	return nil
}

// values returns the numbers that the original reports, by their names (builtin-algorithms, 4.8).
func (s *scores) values(p *Params) []value {
	n := s.rows
	values := []value{{objectiveName(s.model.PredictorType, s.model.Loss), "loss", s.loss / n}}
	add := func(name, kind string, number float64) { values = append(values, value{name, kind, number}) }
	switch s.model.PredictorType {
	case binaryClassifier:
		add("binary_classification_accuracy", "score", s.accuracy())
		add(fmt.Sprintf("binary_f_%.3f", p.beta()), "score", s.fBeta(p.beta()))
		add("precision", "score", s.precision())
		add("recall", "score", s.recall())
		add("roc_auc_score", "score", s.auc)
		add("binary_balanced_accuracy", "score", s.balanced())
		add("binary_log_loss", "score", s.log/n)
	case multiclassClassifier:
		recall, precision, f, balanced, right := s.macro(p.beta())
		add("multiclass_accuracy", "score", right/n)
		add(fmt.Sprintf("multiclass_top_k_accuracy_%d", p.AccuracyTopK), "score", s.top/n)
		add("dcg", "score", s.gain/n)
		add("macro_recall", "score", recall)
		add("macro_precision", "score", precision)
		add(fmt.Sprintf("macro_f_%.3f", p.beta()), "score", f)
		add("multiclass_balanced_accuracy", "score", balanced)
		add("multiclass_log_loss", "score", s.log/n)
	default:
		mean := s.labels / n
		variance := s.labelsAbout/n - mean*mean
		add("mse", "loss", s.square/n)
		add("absolute_loss", "loss", s.absolute/n)
		add("rmse", "loss", math.Sqrt(s.square/n))
		add("r2", "loss", 1-s.square/n/variance)
	}
	return values
}

// macro returns the means over the classes: those that are there or predicted, and for balanced those that are there.
func (s *scores) macro(beta float64) (recall, precision, f, balanced, right float64) {
	n := len(s.classes) / 3
	var seen, there float64
	for c := range n {
		k := counts{tp: s.classes[2*n+c], fp: s.classes[n+c] - s.classes[2*n+c], fn: s.classes[c] - s.classes[2*n+c]}
		right += k.tp
		if s.classes[c]+s.classes[n+c] == 0 {
			continue
		}
		seen++
		recall += k.recall()
		precision += k.precision()
		f += k.fBeta(beta)
		if s.classes[c] > 0 {
			there++
			balanced += k.recall()
		}
	}
	return ratio(recall, seen), ratio(precision, seen), ratio(f, seen), ratio(balanced, there), right
}
