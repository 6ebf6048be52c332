package linearlearner

import "math"

// A schedule is the learning rate of one model, from update to update (builtin-algorithms, 4.5).
type schedule struct {
	Rate  float64
	Since int64 // the update of the last decay
}

// next returns the rate of update t, from 1.
func (s *schedule) next(t int64, m Setting) float64 {
	for t > s.Since+int64(m.Step) {
		s.Since += int64(m.Step)
		s.Rate = max(s.Rate*m.Factor, m.MinimumLR)
	}
	return s.Rate
}

// correction is what Adam's rate is multiplied by at update t.
func correction(t int64, beta1, beta2 float64) float64 {
	return math.Sqrt(1-math.Pow(beta2, float64(t))) / (1 - math.Pow(beta1, float64(t)))
}
