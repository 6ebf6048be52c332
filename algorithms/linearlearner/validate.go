package linearlearner

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/cluster"
)

// A validation is what all models are worth on the channel validation.
type validation struct {
	objective []float64
	name      string    // of the criterion
	values    []float64 // of the criterion, by which models are compared
}

// objective returns the name of the mean loss in log lines.
func (t *training) objective() string { return objectiveName(t.p.PredictorType, t.p.loss()) }

func objectiveName(predictorType, loss string) string {
	switch {
	case loss == "logistic":
		return "binary_classification_cross_entropy_objective"
	case predictorType == multiclassClassifier:
		return "multiclass_cross_entropy_objective"
	case loss == "squared_loss":
		return "mse_objective"
	}
	return loss + "_objective"
}

// maximize reports whether models are compared by a criterion that is better where it is greater.
func (t *training) maximize() bool {
	return t.p.PredictorType == binaryClassifier && t.validates && t.p.criterion() != "loss_function"
}

// sampleNumbers bounds the scores of all models that are kept to compare them, to 256 MiB on all hosts together.
const sampleNumbers = 1 << 26

// validate scores all models on the channel validation; nil where there is none.
func (t *training) validate(ctx context.Context) (*validation, error) {
	if !t.validates {
		return nil, nil
	}
	models := len(t.settings)
	totals := make([]float64, models+1) // losses, rows
	var rankings []ranking
	limit := 0
	if t.maximize() {
		rankings = make([]ranking, models)
		limit = min(t.p.NumCalibrationSamples, max(1, sampleNumbers/models)) / t.job.Cluster.Size()
	}
	if channel := t.job.Channels["validation"]; channel != nil {
		if err := t.readValidation(ctx, channel, totals, rankings, limit); err != nil {
			return nil, err
		}
	}
	if err := t.job.Cluster.AllReduce(ctx, totals); err != nil {
		return nil, err
	}
	if totals[models] == 0 {
		return nil, algospec.ClientErrorf("channel validation: %w", errNoRecords)
	}
	v := &validation{objective: totals[:models], name: t.objective()}
	for m := range v.objective {
		v.objective[m] /= totals[models]
	}
	v.values = v.objective
	if rankings != nil {
		v.name = "sampled_" + t.p.criterion()
		return v, t.rank(ctx, v, rankings)
	}
	return v, nil
}

// readValidation adds the losses of the channel's rows to the totals, and their scores to the rankings.
func (t *training) readValidation(ctx context.Context, channel *channel.Channel, totals []float64, rankings []ranking, limit int) error {
	models := len(t.settings)
	loss, parameter := t.p.kernel()
	scorer := newScorer(t.linear, models*t.p.outputs())
	from := checkpoint.Position{Channel: channel.Name, Epoch: t.Epoch}
	for batch, err := range algorithms.BatchesFrom(ctx, channel, t.batching, from) {
		if err != nil {
			return err
		}
		if err := t.checkLabels(channel.Name, batch); err != nil {
			return err
		}
		t.Scaler.apply(batch)
		z := scorer.scores(compute.Of(batch))
		for i, y := range batch.Labels {
			row := z.Data[i*z.Stride:][:z.Cols]
			weight := t.weightOf(i)
			t.addLosses(totals, row, float64(y), weight, loss, parameter)
			if rankings != nil && rankings[0].n < limit {
				for m, v := range row {
					rankings[m].add(t.binaryScore(float64(v)), y, float32(weight))
				}
			}
			totals[models] += weight
		}
	}
	return nil
}

// addLosses adds the losses of a row to those of the models.
func (t *training) addLosses(totals []float64, row []float32, y, rowWeight float64, loss compute.Loss, parameter float64) {
	outputs := t.p.outputs()
	for m := range t.settings {
		if loss == compute.Softmax {
			weight := rowWeight
			if t.Scaler.ClassWeights != nil {
				weight *= float64(t.Scaler.ClassWeights[int(y)])
			}
			totals[m] += weight * crossEntropy(row[m*outputs:][:outputs], int(y))
			continue
		}
		z, weight := float64(row[m]), rowWeight
		if t.p.PredictorType == regressor {
			z = z*float64(t.Scaler.LabelStd) + float64(t.Scaler.LabelMean)
		} else if y != 0 && t.p.PositiveExampleWeightMult.Word != "auto" { // whose models differ in it, and are compared
			weight *= t.settings[m].positive
		}
		value, _ := loss.At(z, y, parameter)
		totals[m] += weight * value
	}
}

// crossEntropy returns −ln of the share of a class.
func crossEntropy[T float32 | float64](z []T, class int) float64 {
	top, sum := z[0], 0.0
	for _, v := range z {
		top = max(top, v)
	}
	for _, v := range z {
		sum += math.Exp(float64(v - top))
	}
	return math.Log(sum) - float64(z[class]-top)
}

// binaryScore returns what the model will answer for z.
func (t *training) binaryScore(z float64) float32 {
	if t.p.loss() == "hinge_loss" {
		return float32((z + 1) / 2)
	}
	return float32(1 / (1 + math.Exp(-z)))
}

// rank finds the best value of the criterion that each model can have, by the scores of all hosts.
func (t *training) rank(ctx context.Context, v *validation, rankings []ranking) error {
	v.values = make([]float64, len(rankings))
	for m := range rankings {
		all, err := t.gather(ctx, &rankings[m])
		if err != nil {
			return err
		}
		if t.job.Cluster.Leader() {
			_, v.values[m] = all.threshold(t.p.selection())
		}
	}
	return t.job.Cluster.Broadcast(ctx, 0, v.values)
}

// gather returns the scores of all hosts on the leader.
func (t *training) gather(ctx context.Context, r *ranking) (*ranking, error) {
	if t.job.Cluster.Size() == 1 {
		return r, nil
	}
	all := new(ranking)
	for label := range r.plain {
		if err := gatherBlocks(ctx, &t.job.Cluster, r.plain[label], &all.plain[label]); err != nil {
			return nil, err
		}
	}
	return all, gatherBlocks(ctx, &t.job.Cluster, r.weighted, &all.weighted)
}

// gatherBlocks adds the numbers of all hosts to all, on the leader.
func gatherBlocks[T uint32 | uint64](ctx context.Context, hosts *cluster.Cluster, own blocks[T], all *blocks[T]) (err error) {
	var message []byte
	for _, block := range own {
		if message, err = binary.Append(message, binary.LittleEndian, block); err != nil {
			return err
		}
	}
	parts, err := hosts.Gather(ctx, message)
	size := binary.Size(T(0))
	for _, part := range parts {
		for len(part) >= size {
			block := make([]T, min(blockLen, len(part)/size))
			n, err := binary.Decode(part, binary.LittleEndian, block)
			if err != nil {
				return err
			}
			*all, part = append(*all, block), part[n:]
		}
	}
	return err
}
