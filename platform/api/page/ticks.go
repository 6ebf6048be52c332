package page

import (
	"math"
	"strconv"
	"time"
)

// An axis runs over a range that ends at nice numbers.
type axis struct {
	Low, High float64
	Ticks     []tick
}

// A tick is a value with its label.
type tick struct {
	Value float64
	Label string
}

// at returns where a value is, from 0 at the low end to 1. Halves keep the difference of any two numbers finite.
func (a axis) at(value float64) float64 {
	return (value/2 - a.Low/2) / (a.High/2 - a.Low/2)
}

// axisOver returns an axis that holds low to high, with about n ticks.
func axisOver(low, high float64, n int) axis {
	if span := high/2 - low/2; span <= 1e-12*max(math.Abs(low), math.Abs(high)) { // one value, as near as can be drawn
		room := max(math.Abs(low)/10, 1e-300)
		if low == 0 {
			room = 1
		}
		low, high = bounded(low-room), bounded(high+room)
	}
	step := niceStep((high/2 - low/2) / (float64(n) / 2))
	first, last := math.Floor(low/step+1e-9), math.Ceil(high/step-1e-9)
	a := axis{Low: bounded(first * step), High: bounded(last * step)}
	for i := first; i <= last && len(a.Ticks) < 4*n; i++ {
		value := i * step
		if math.IsInf(value, 0) {
			continue
		}
		a.Ticks = append(a.Ticks, tick{value, label(value, step, max(math.Abs(a.Low), math.Abs(a.High)))})
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

// figure writes a value as people read it.
func figure(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }

// steps are the distances between ticks of time, below days.
var steps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// timeTicks returns up to n ticks from 0 to span; a tick's value is a part of span.
func timeTicks(span time.Duration, n int) []tick {
	if span <= 0 {
		return []tick{{0, "0"}}
	}
	step := steps[len(steps)-1]
	for _, s := range steps {
		if span/s < time.Duration(n) {
			step = s
			break
		}
	}
	for span/step >= time.Duration(n) {
		step *= 2
	}
	var ticks []tick
	for t := time.Duration(0); t <= span && t >= 0; t += step {
		ticks = append(ticks, tick{float64(t) / float64(span), elapsed(t)})
	}
	return ticks
}

// elapsed writes a tick of time: its units that are not zero.
func elapsed(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	if d < time.Second {
		return d.String()
	}
	text := ""
	if days := d / (24 * time.Hour); days > 0 {
		text = strconv.FormatInt(int64(days), 10) + "d"
	}
	for _, unit := range []struct {
		size, of time.Duration
		name     string
	}{{time.Hour, 24, "h"}, {time.Minute, 60, "m"}, {time.Second, 60, "s"}} {
		if n := d / unit.size % unit.of; n > 0 {
			text += strconv.FormatInt(int64(n), 10) + unit.name
		}
	}
	return text
}
