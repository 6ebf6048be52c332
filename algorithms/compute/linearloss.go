package compute

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// lossKernel adds the losses of z to those of the models, and replaces z by the derivative of the loss.
func (l *cpuLinear) lossKernel(z blas32.General, labels, weight []float32) {
	switch l.Loss {
	case Logistic:
		l.logistic(z, labels, weight)
	case Softmax:
		l.softmax(z, labels, weight)
	default:
		l.pointwise(z, labels, weight)
	}
}

// logistic takes the logarithm of a product of many 1+exp(−|z|), each at most 2, instead of many logarithms. Rows of
// each label have a product of their own, as their weights may differ; rows of other weights are taken alone.
func (l *cpuLinear) logistic(z blas32.General, labels, weight []float32) {
	const most = 512 // factors of a product, below 2¹⁰²³
	models := len(l.Models)
	if l.products == nil {
		l.products = make([]float64, 2*models)
	}
	for begin := 0; begin < z.Rows; begin += most {
		for k := range l.products {
			l.products[k] = 1
		}
		for i := begin; i < min(begin+most, z.Rows); i++ {
			row := z.Data[i*z.Stride:][:models]
			if weight != nil && weight[i] != 1 {
				l.logisticWeighted(row, labels[i], float64(weight[i]))
				continue
			}
			if labels[i] == 0 {
				products := l.products[:models]
				for m, v := range row {
					e := expNeg(abs32(v))
					products[m] *= 1 + e
					p := 1 / (1 + e)
					if v < 0 {
						p *= e
					} else {
						l.losses[m] += float64(v)
					}
					row[m] = float32(p)
				}
				continue
			}
			products := l.products[models:][:models]
			for m, v := range row {
				e := expNeg(abs32(v))
				products[m] *= 1 + e
				q := 1 / (1 + e) // of the other label
				positive := l.Models[m].Positive
				if v > 0 {
					q *= e
				} else {
					l.losses[m] -= positive * float64(v)
				}
				row[m] = float32(-positive * q)
			}
		}
		for m := range l.Models {
			l.losses[m] += math.Log(l.products[m]) + l.Models[m].Positive*math.Log(l.products[models+m])
		}
	}
}

func (l *cpuLinear) logisticWeighted(row []float32, label float32, weight float64) {
	for m, v := range row {
		t, w := -1.0, weight
		if label != 0 {
			t, w = 1, weight*l.Models[m].Positive
		}
		e := math.Exp(-math.Abs(float64(v)))
		q := 1 / (1 + e)
		if t*float64(v) > 0 {
			q *= e
		} else {
			l.losses[m] += w * math.Abs(float64(v))
		}
		l.losses[m] += w * math.Log1p(e)
		row[m] = float32(-t * w * q)
	}
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// expNeg returns exp(−x) of x ≥ 0, to 1e-9 relatively: 2 to a whole power times a polynomial.
func expNeg(x float32) float64 {
	if !(x < 700) { // NaN as well
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

func (l *cpuLinear) softmax(z blas32.General, labels, weight []float32) {
	for i := range z.Rows {
		class, w := int(labels[i]), 1.0
		if weight != nil {
			w = float64(weight[i])
		}
		for m := range l.Models {
			row := z.Data[i*z.Stride+m*l.Outputs:][:l.Outputs]
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
			l.losses[m] += w * (math.Log(sum) - target)
			share := float32(w / sum)
			for k := range row {
				row[k] *= share
			}
			row[class] -= float32(w)
		}
	}
}

// pointwise is the losses that need no more than a few comparisons.
func (l *cpuLinear) pointwise(z blas32.General, labels, weight []float32) {
	for i := range z.Rows {
		row := z.Data[i*z.Stride:][:len(l.Models)]
		y := float64(labels[i])
		for m, v := range row {
			w := 1.0
			if weight != nil {
				w = float64(weight[i])
			}
			if l.Loss == Hinge && y != 0 {
				w *= l.Models[m].Positive
			}
			loss, derivative := l.Loss.At(float64(v), y, l.Parameter)
			l.losses[m] += w * loss
			row[m] = float32(w * derivative)
		}
	}
}

// At returns the loss of one row and its derivative by z. It is not for Softmax.
func (l Loss) At(z, y, parameter float64) (loss, derivative float64) {
	e := z - y
	a := math.Abs(e)
	switch l {
	case Logistic:
		t := 2*y - 1
		return math.Max(0, -t*z) + math.Log1p(math.Exp(-math.Abs(z))), -t / (1 + math.Exp(t*z))
	case Hinge:
		t := 2*y - 1
		if loss := parameter - t*z; loss > 0 {
			return loss, -t
		}
		return 0, 0
	case Squared:
		return e * e, e
	case Absolute:
		return a, sign(e)
	case SquaredInsensitive:
		over := math.Max(0, a-parameter)
		return over * over, sign(e) * over
	case AbsoluteInsensitive:
		if a > parameter {
			return a - parameter, sign(e)
		}
		return 0, 0
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
