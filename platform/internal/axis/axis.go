// Package axis finds the round numbers at which the axes of charts have their ticks.
package axis

import (
	"math"
	"strconv"
)

// An Axis runs over a range that ends at nice numbers.
type Axis struct {
	Low, High float64
	Ticks     []Tick
}

// A Tick is a value with its label.
type Tick struct {
	Value float64
	Label string
}

// At returns where a value is, from 0 at the low end to 1. Halves keep the difference of any two numbers finite.
func (a Axis) At(value float64) float64 {
	return (value/2 - a.Low/2) / (a.High/2 - a.Low/2)
}

// Over returns an axis that holds low to high, with about n ticks.
func Over(low, high float64, n int) Axis {
	if span := high/2 - low/2; span <= 1e-12*max(math.Abs(low), math.Abs(high)) { // one value, as near as can be drawn
		room := max(math.Abs(low)/10, 1e-300)
		if low == 0 {
			room = 1
		}
		low, high = bounded(low-room), bounded(high+room)
	}
	step := niceStep((high/2 - low/2) / (float64(n) / 2))
	first, last := math.Floor(low/step+1e-9), math.Ceil(high/step-1e-9)
	a := Axis{Low: bounded(first * step), High: bounded(last * step)}
	for i := first; i <= last && len(a.Ticks) < 4*n; i++ {
		value := i * step
		if math.IsInf(value, 0) {
			continue
		}
		a.Ticks = append(a.Ticks, Tick{value, label(value, step, max(math.Abs(a.Low), math.Abs(a.High)))})
	}
	return a
}

func bounded(x float64) float64 { return max(-math.MaxFloat64, min(x, math.MaxFloat64)) }

// niceStep is the least of 1, 2 and 5 times a power of ten that is at least step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= step*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// label writes a multiple of step with the digits that tell it from the next one.
func label(value, step, greatest float64) string {
	digits := -int(math.Floor(math.Log10(step) + 1e-9))
	if greatest >= 1e6 || greatest < 1e-3 {
		if value == 0 {
			return "0"
		}
		return strconv.FormatFloat(value, 'e', max(0, int(math.Floor(math.Log10(math.Abs(value))+1e-9))+digits), 64)
	}
	return strconv.FormatFloat(value, 'f', max(0, digits), 64)
}
