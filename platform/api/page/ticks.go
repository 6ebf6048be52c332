package page

import (
	"strconv"
	"time"

	"github.com/algospec/algospec/platform/internal/axis"
)

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
func timeTicks(span time.Duration, n int) []axis.Tick {
	if span <= 0 {
		return []axis.Tick{{Value: 0, Label: "0"}}
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
	var ticks []axis.Tick
	for t := time.Duration(0); t <= span && t >= 0; t += step {
		ticks = append(ticks, axis.Tick{Value: float64(t) / float64(span), Label: elapsed(t)})
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
