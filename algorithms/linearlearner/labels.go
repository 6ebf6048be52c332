package linearlearner

import (
	"fmt"
	"math"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
)

// checkLabels refuses labels that the predictor type has not. Where records have weights, it takes them out of the batch's labels.
//
// A weight is a second label value: text/csv has it in the second column, with label_size=2 in its content type, and records of
// protobuf have two values of label. So features are those of requests for predictions, which have no weight.
func (t *training) checkLabels(channel string, b *algorithms.Batch) error {
	if t.p.SampleWeights {
		if err := t.takeWeights(channel, b); err != nil {
			return err
		}
	}
	if b.LabelSize != 1 {
		return algospec.ClientErrorf("channel %s: record %d: %d labels, want 1", channel, b.First, b.LabelSize)
	}
	classes, want := 0, ""
	switch t.p.PredictorType {
	case binaryClassifier:
		classes, want = 2, "0 or 1"
	case multiclassClassifier:
		classes, want = t.p.NumClasses, fmt.Sprintf("a whole number from 0 to %d, which num_classes says", t.p.NumClasses-1)
	default:
		return nil
	}
	for i, y := range b.Labels {
		if !(y >= 0 && y < float32(classes)) || y != float32(int(y)) {
			return algospec.ClientErrorf("channel %s: record %d: the label is %v, want %s", channel, b.First+int64(i), y, want)
		}
	}
	return nil
}

// takeWeights leaves the labels in the batch, and the weights in sampleWeights: relative to the mean of the scaler's sample, so that
// their scale is without effect.
func (t *training) takeWeights(channel string, b *algorithms.Batch) error {
	if b.LabelSize != 2 {
		return algospec.ClientErrorf("channel %s: record %d: %d labels, want 2, the label and the weight, as _sample_weights says"+
			" (text/csv;label_size=2 has both first)", channel, b.First, b.LabelSize)
	}
	unit := float32(1)
	if t.Scaler != nil && t.Scaler.WeightUnit > 0 {
		unit = t.Scaler.WeightUnit
	}
	n := b.Rows()
	t.sampleWeights = t.sampleWeights[:0]
	for i := range n {
		w := b.Labels[2*i+1]
		if !(w >= 0) || math.IsInf(float64(w/unit), 0) {
			return algospec.ClientErrorf("channel %s: record %d: the weight is %v, want a number from 0 on", channel, b.First+int64(i), w)
		}
		b.Labels[i] = b.Labels[2*i]
		t.sampleWeights = append(t.sampleWeights, w/unit)
	}
	b.Labels, b.LabelSize = b.Labels[:n], 1
	return nil
}

// weightOf returns the weight of row i of the batch whose labels were checked last.
func (t *training) weightOf(i int) float64 {
	if t.sampleWeights == nil {
		return 1
	}
	return float64(t.sampleWeights[i])
}
