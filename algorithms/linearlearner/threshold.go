package linearlearner

import "math"

// counts is how many rows, or what weights of rows, of each label are predicted as each label.
type counts struct{ tp, fp, tn, fn float64 }

func (c counts) n() float64         { return c.tp + c.fp + c.tn + c.fn }
func (c counts) accuracy() float64  { return ratio(c.tp+c.tn, c.n()) }
func (c counts) precision() float64 { return ratio(c.tp, c.tp+c.fp) }
func (c counts) recall() float64    { return ratio(c.tp, c.tp+c.fn) }

// balanced returns the mean of the shares of each label that are predicted as such.
func (c counts) balanced() float64 { return (c.recall() + ratio(c.tn, c.tn+c.fp)) / 2 }

func (c counts) fBeta(beta float64) float64 {
	b := beta * beta
	return ratio((1+b)*c.tp, (1+b)*c.tp+b*c.fn+c.fp)
}

// ratio returns a/b; 0 where b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// A criterion is binary_classifier_model_selection_criteria.
type criterion struct {
	name   string
	beta   float64
	target float64 // of recall or precision
}

func (p *Params) selection() criterion {
	c := criterion{name: p.criterion(), beta: p.beta()}
	switch c.name {
	case "precision_at_target_recall":
		c.target = p.TargetRecall
	case "recall_at_target_precision":
		c.target = p.TargetPrecision
	}
	return c
}

// value returns how good the counts are. Where the target is not reached it is negative: how far away it is.
func (c criterion) value(k counts) float64 {
	switch c.name {
	case "f_beta":
		return k.fBeta(c.beta)
	case "precision_at_target_recall":
		if recall := k.recall(); recall < c.target {
			return recall - c.target
		}
		return k.precision()
	case "recall_at_target_precision":
		if precision := k.precision(); precision < c.target {
			return precision - c.target
		}
		return k.recall()
	}
	return k.accuracy()
}

// neutral is the threshold where nothing chooses another: half way between the labels.
const neutral = 0.5

// threshold returns the score that is the best cut by the criterion, the one nearest to neutral of several that are equally good,
// and the criterion's value there. It is exact: every cut is looked at, that above all scores too.
func (r *ranking) threshold(c criterion) (cut, value float64) {
	all := r.count(math.NaN()) // which no score reaches
	if all.n() == 0 {
		return neutral, 0
	}
	k, first := all, true
	for score, weights := range r.cuts() {
		if first {
			cut, value, first = float64(math.Nextafter32(score, float32(math.Inf(1)))), c.value(k), false
		}
		k.fp, k.tp = k.fp+weights[0], k.tp+weights[1]
		k.tn, k.fn = max(0, all.tn-k.fp), max(0, all.fn-k.tp)
		at, v := float64(score), c.value(k)
		if v > value || v == value && math.Abs(at-neutral) < math.Abs(cut-neutral) {
			cut, value = at, v
		}
	}
	return cut, value
}

// count returns the counts of a cut.
func (r *ranking) count(cut float64) (k counts) {
	for label, scores := range r.plain {
		for _, block := range scores {
			for _, key := range block {
				k.add(float64(unordered(key)) >= cut, label == 1, 1)
			}
		}
	}
	for _, block := range r.weighted {
		for _, key := range block {
			score, label, weight := split(key)
			k.add(float64(unordered(score)) >= cut, label == 1, weight)
		}
	}
	return k
}

func (c *counts) add(predicted, label bool, weight float64) {
	switch {
	case predicted && label:
		c.tp += weight
	case predicted:
		c.fp += weight
	case label:
		c.fn += weight
	default:
		c.tn += weight
	}
}

// auc returns the area under the ROC curve: the share of pairs of both labels in which the row labelled 1 has the higher score,
// pairs of equal scores being half; NaN where one label is missing.
func (r *ranking) auc() float64 {
	var positives, negatives, pairs float64
	for _, weights := range r.cuts() {
		n, p := weights[0], weights[1]
		pairs += n * (positives + p/2)
		positives, negatives = positives+p, negatives+n
	}
	return pairs / (positives * negatives)
}
