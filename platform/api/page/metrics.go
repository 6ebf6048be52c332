package page

import (
	"math"
	"slices"
	"time"

	"github.com/algospec/algospec/platform"
)

// A curve is the values of one metric.
type curve struct {
	Name  string
	Lines []series // in the order of hosts
}

// A series is the values that one host's log held of a metric, in the order of time.
type series struct {
	Host   string
	Points []point
}

type point struct {
	At    time.Time
	Value float64
}

// curves sorts values by metric, in the order of first appearance, and by host. What is no finite number has
// no place in a curve.
func curves(metrics []platform.Metric) []curve {
	var all []curve
	byName := map[string]int{}
	for _, m := range metrics {
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			continue
		}
		i, ok := byName[m.Name]
		if !ok {
			i = len(all)
			byName[m.Name] = i
			all = append(all, curve{Name: m.Name})
		}
		all[i].add(m)
	}
	for _, c := range all {
		slices.SortFunc(c.Lines, func(a, b series) int { return compareHosts(a.Host, b.Host) })
		for _, s := range c.Lines {
			slices.SortStableFunc(s.Points, func(a, b point) int { return a.At.Compare(b.At) })
		}
	}
	return all
}

func (c *curve) add(m platform.Metric) {
	i := slices.IndexFunc(c.Lines, func(s series) bool { return s.Host == m.Host })
	if i < 0 {
		i = len(c.Lines)
		c.Lines = append(c.Lines, series{Host: m.Host})
	}
	c.Lines[i].Points = append(c.Lines[i].Points, point{m.Time, m.Value})
}
