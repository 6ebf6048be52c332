package compute

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// lossRows are rows of z, at most 512, whose losses are added to those of the models, and which become the derivatives.
type lossRows struct {
	l              *cpuLinear
	z              blas32.General
	labels, weight []float32
	losses         []float64
	products       []float64 // of logistic, two for each model
}

func (r *lossRows) kernel() {
	switch r.l.Loss {
	case Logistic:
		r.logistic()
	case Softmax:
		r.softmax()
	default:
		r.pointwise()
	}
}

// logistic takes the logarithm of a product of many 1+exp(−|z|), each at most 2, instead of many logarithms. Rows of
// each label have a product of their own, as their weights may differ; rows of other weights are taken alone.
func (r *lossRows) logistic() {
	models := len(r.losses)
	negative, positive := r.products[:models], r.products[models:]
	for m := range models {
		negative[m], positive[m] = 1, 1
	}
	for i, label := range r.labels {
		row := r.z.Data[i*r.z.Stride:][:models]
		switch {
		case r.weight != nil && r.weight[i] != 1:
			r.logisticWeighted(row, label, float64(r.weight[i]))
		case label == 0:
			r.logisticNegative(row, negative)
		default:
			r.logisticPositive(row, positive)
		}
	}
	for m := range models {
		r.losses[m] += math.Log(negative[m]) + r.l.Models[m].Positive*math.Log(positive[m])
	}
}

func (r *lossRows) logisticNegative(row []float32, products []float64) {
	losses := r.losses[:len(row)]
	products = products[:len(row)]
	for m, v := range row {
		e := expNeg(abs32(v))
		products[m] *= 1 + e
		p := 1 / (1 + e)
		if v < 0 {
			p *= e
		} else {
			losses[m] += float64(v)
		}
		row[m] = float32(p)
	}
}

func (r *lossRows) logisticPositive(row []float32, products []float64) {
	losses := r.losses[:len(row)]
	products = products[:len(row)]
	models := r.l.Models[:len(row)]
	for m, v := range row {
		e := expNeg(abs32(v))
		products[m] *= 1 + e
		q := 1 / (1 + e) // of the other label
		if v > 0 {
			q *= e
		} else {
			losses[m] -= models[m].Positive * float64(v)
		}
		row[m] = float32(-models[m].Positive * q)
	}
}

func (r *lossRows) logisticWeighted(row []float32, label float32, weight float64) {
	for m, v := range row {
		t, w := -1.0, weight
		if label != 0 {
			t, w = 1, weight*r.l.Models[m].Positive
		}
		e := math.Exp(-math.Abs(float64(v)))
		q := 1 / (1 + e)
		if t*float64(v) > 0 {
			q *= e
		} else {
			r.losses[m] += w * math.Abs(float64(v))
		}
		r.losses[m] += w * math.Log1p(e)
		row[m] = float32(-t * w * q)
	}
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// expNeg returns exp(−x) of x ≥ 0, to 1e-9 relatively: 2 to a whole power times a polynomial. Beyond 80 it is 0: products with
// what comes of it in float32, which are below its normal numbers, take a hundred times as long.
func expNeg(x float32) float64 {
	if !(x < 80) { // NaN as well
		if x != x {
			return math.NaN()
		}
		return 0
	}
	y := float64(x) * -math.Log2E
	whole := int64(y - 0.5) // rounds: y ≤ 0
	r := (y - float64(whole)) * math.Ln2
	// |r| ≤ ln2/2: the terms left out of the series are below 3e-10.
	p := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720+r*(1./5040)))))))
	return p * math.Float64frombits(uint64(whole+1023)<<52)
}

func (r *lossRows) softmax() {
	outputs := r.l.Outputs
	for i, label := range r.labels {
		class, w := int(label), 1.0
		if r.weight != nil {
			w = float64(r.weight[i])
		}
		for m := range r.losses {
			row := r.z.Data[i*r.z.Stride+m*outputs:][:outputs]
			top := row[0]
			for _, v := range row {
				top = max(top, v)
			}
			target, sum := float64(row[class]-top), 0.0
			for k, v := range row {
				e := expNeg(top - v)
				row[k] = float32(e)
				sum += e
			}
			r.losses[m] += w * (math.Log(sum) - target)
			share := float32(w / sum)
			for k := range row {
				row[k] *= share
			}
			row[class] -= float32(w)
		}
	}
}

// pointwise is the losses that need no more than a few comparisons.
func (r *lossRows) pointwise() {
	for i, label := range r.labels {
		row := r.z.Data[i*r.z.Stride:][:len(r.losses)]
		y := float64(label)
		for m, v := range row {
			w := 1.0
			if r.weight != nil {
				w = float64(r.weight[i])
			}
			if r.l.Loss == Hinge && y != 0 {
				w *= r.l.Models[m].Positive
			}
			loss, derivative := r.l.Loss.At(float64(v), y, r.l.Parameter)
			r.losses[m] += w * loss
			row[m] = float32(w * derivative)
		}
	}
}

// At returns the loss of one row and its derivative by z; that of a z that is NaN is NaN. It is not for Softmax.
func (l Loss) At(z, y, parameter float64) (loss, derivative float64) {
	e := z - y
	a := math.Abs(e)
	switch l {
	case Logistic:
		t := 2*y - 1
		return math.Max(0, -t*z) + math.Log1p(math.Exp(-math.Abs(z))), -t / (1 + math.Exp(t*z))
	case Hinge:
		t := 2*y - 1
		if t*z >= parameter {
			return 0, 0
		}
		return parameter - t*z, -t
	case Squared:
		return e * e, e
	case Absolute:
		return a, sign(e)
	case SquaredInsensitive:
		over := math.Max(0, a-parameter)
		return over * over, sign(e) * over
	case AbsoluteInsensitive:
		if a <= parameter {
			return 0, 0
		}
		return a - parameter, sign(e)
	case Huber:
		if a <= parameter {
			return e * e / 2, e
		}
		return parameter * (a - parameter/2), sign(e) * parameter
	case Quantile:
		if e < 0 {
			return -parameter * e, -parameter
		}
		return (1 - parameter) * e, (1 - parameter) * sign(e)
	}
	panic("compute: no loss of one score")
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0 and NaN
}
