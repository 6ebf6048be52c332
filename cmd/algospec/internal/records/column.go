package records

import "math"

// A column is the statistics of some numbers, gathered in one pass (Welford 1962). The zero value
// has seen none.
type column struct {
	finite, zeros, nan, inf int64   // how many were finite, zero (which is finite), NaN, infinite
	keyed                   int64   // how many came from sparse values
	min, max                float64 // of all but NaN
	mean, squares           float64 // of the finite; squares is the sum of squared deviations
}

// count returns how many numbers the column has seen.
func (c *column) count() int64 { return c.finite + c.inf + c.nan }

func (c *column) add(x float64) {
	if math.IsNaN(x) {
		c.nan++
		return
	}
	if c.finite+c.inf == 0 {
		c.min, c.max = x, x
	} else {
		c.min, c.max = min(c.min, x), max(c.max, x)
	}
	if math.IsInf(x, 0) {
		c.inf++
		return
	}
	if x == 0 {
		c.zeros++
	}
	c.finite++
	d := x - c.mean
	c.mean += d / float64(c.finite)
	c.squares += d * (x - c.mean)
}

// merge adds what another column has seen (Chan, Golub, LeVeque 1983).
func (c *column) merge(o column) {
	if o.count() == 0 {
		return
	}
	if c.finite+c.inf == 0 {
		c.min, c.max = o.min, o.max
	} else if o.finite+o.inf > 0 {
		c.min, c.max = min(c.min, o.min), max(c.max, o.max)
	}
	if n := float64(c.finite + o.finite); o.finite > 0 {
		d := o.mean - c.mean
		c.mean += d * (float64(o.finite) / n)
		c.squares += o.squares + d*d*(float64(c.finite)*(float64(o.finite)/n))
	}
	c.finite += o.finite
	c.zeros += o.zeros
	c.nan += o.nan
	c.inf += o.inf
	c.keyed += o.keyed
}

// A summary is a column in the numbers that people want: NaN where there is none.
type summary struct {
	count, nan, inf                      int64
	min, max, mean, deviation, zeroShare float64 // deviation is divided by the count, not by one less
}

func (c *column) summary() summary {
	s := summary{
		count: c.count(), nan: c.nan, inf: c.inf,
		min: c.min, max: c.max, mean: c.mean, deviation: math.Sqrt(c.squares / float64(c.finite)),
		zeroShare: float64(c.zeros) / float64(c.count()),
	}
	if c.finite == 0 {
		s.mean = math.NaN()
	}
	if c.finite+c.inf == 0 {
		s.min, s.max = math.NaN(), math.NaN()
	}
	return s
}
