package linearlearner

import (
	"math"
	"slices"
)

// A ranking is scores with their labels, 0 or 1, and the weights of their rows, as numbers that sort like the scores: 32 bits of
// the score, one of the label, and the 31 of a float32 that is not negative.
type ranking []uint64

const labelled = 1 << 31

// add appends a score.
func (r *ranking) add(score, label, weight float32) {
	key := uint64(ordered(score))<<32 | uint64(math.Float32bits(weight))
	if label != 0 {
		key |= labelled
	}
	*r = append(*r, key)
}

// split returns what add has put together.
func split(key uint64) (score float32, label bool, weight float64) {
	return unordered(uint32(key >> 32)), key&labelled != 0, float64(math.Float32frombits(uint32(key) &^ labelled))
}

// ordered returns the bits of x as a number that grows with x.
func ordered(x float32) uint32 {
	bits := math.Float32bits(x)
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

func unordered(bits uint32) float32 {
	if bits>>31 == 1 {
		return math.Float32frombits(bits &^ (1 << 31))
	}
	return math.Float32frombits(^bits)
}

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

// threshold sorts the ranking and returns the score that is the best cut by the criterion, the one nearest to neutral of several
// that are equally good, and the criterion's value there. It is exact: every cut is looked at, that above all scores too.
func (r ranking) threshold(c criterion) (cut, value float64) {
	slices.Sort(r)
	var k counts
	for _, key := range r {
		_, label, weight := split(key)
		k.add(false, label, weight)
	}
	all := k
	if k.n() == 0 {
		return neutral, 0
	}
	highest, _, _ := split(r[len(r)-1])
	cut, value = float64(math.Nextafter32(highest, float32(math.Inf(1)))), c.value(k)
	for i := len(r) - 1; i >= 0; {
		score := r[i] >> 32
		for ; i >= 0 && r[i]>>32 == score; i-- {
			if _, label, weight := split(r[i]); label {
				k.tp += weight
			} else {
				k.fp += weight
			}
		}
		k.fn, k.tn = max(0, all.fn-k.tp), max(0, all.tn-k.fp)
		at, v := float64(unordered(uint32(score))), c.value(k)
		if v > value || v == value && math.Abs(at-neutral) < math.Abs(cut-neutral) {
			cut, value = at, v
		}
	}
	return cut, value
}

// count returns the counts of a cut.
func (r ranking) count(cut float64) (k counts) {
	for _, key := range r {
		score, label, weight := split(key)
		k.add(float64(score) >= cut, label, weight)
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

// auc sorts the ranking and returns the area under the ROC curve: the share of pairs of both labels in which the row labelled 1
// has the higher score, pairs of equal scores being half; NaN where one label is missing.
func (r ranking) auc() float64 {
	slices.Sort(r)
	var positives, negatives, pairs float64
	for i := 0; i < len(r); {
		score := r[i] >> 32
		var p, n float64
		for ; i < len(r) && r[i]>>32 == score; i++ {
			if _, label, weight := split(r[i]); label {
				p += weight
			} else {
				n += weight
			}
		}
		pairs += p * (negatives + n/2)
		positives, negatives = positives+p, negatives+n
	}
	return pairs / (positives * negatives)
}
