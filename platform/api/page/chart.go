package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/algospec/algospec/platform/internal/axis"
)

// The plane of a chart in its own units; on a usual screen one is about a pixel.
const (
	chartWidth, chartHeight = 480, 190
	plotLeft, plotTop       = 56, 8
	plotWidth, plotHeight   = chartWidth - plotLeft - 10, chartHeight - plotTop - 24
	colours                 = 6 // of lines, in the style sheet; further ones are dashed
)

// A chart is a curve ready to be drawn as SVG.
type chart struct {
	Name          string
	Lines         []chartLine
	X, Y          []mark
	Width, Height int
	Left, Top     int
	Right, Bottom int
	Count         int    // of values
	Last          string // the latest value
	Start         int64  // of the time axis, in Unix milliseconds,
	Span          int64  // and its length in milliseconds
}

// A mark is a tick at its place.
type mark struct {
	At    float64
	Label string
}

// A chartLine is one host's line: its dots, and the values for those who point at them.
type chartLine struct {
	Host, Class    string
	Points, Values string
	Last           string
	X, Y           float64 // of the latest
}

// chartFragments draws every curve, over one range of time so that they can be compared.
func chartFragments(curves []curve) ([]fragment, error) {
	start, end := extent(curves)
	var all []fragment
	for _, c := range curves {
		f, err := newFragment("metric-"+hash(c.Name), "chart.html", draw(c, start, end))
		if err != nil {
			return nil, err
		}
		f.In = "charts"
		all = append(all, f)
	}
	return all, nil
}

// extent is the time of the first and the last value.
func extent(curves []curve) (start, end time.Time) {
	for _, c := range curves {
		for _, s := range c.Lines {
			if first := s.Points[0].At; start.IsZero() || first.Before(start) {
				start = first
			}
			if last := s.Points[len(s.Points)-1].At; last.After(end) {
				end = last
			}
		}
	}
	return start, end
}

func draw(c curve, start, end time.Time) chart {
	view := chart{
		Name: c.Name, Width: chartWidth, Height: chartHeight,
		Left: plotLeft, Top: plotTop, Right: plotLeft + plotWidth, Bottom: plotTop + plotHeight,
		Start: start.UnixMilli(), Span: end.Sub(start).Milliseconds(),
	}
	low, high := c.Lines[0].Points[0].Value, c.Lines[0].Points[0].Value
	var latest point
	for _, s := range c.Lines {
		for _, p := range s.Points {
			low, high = min(low, p.Value), max(high, p.Value)
		}
		view.Count += len(s.Points)
		if p := s.Points[len(s.Points)-1]; !p.At.Before(latest.At) {
			latest = p
		}
	}
	view.Last = figure(latest.Value)
	y := axis.Over(low, high, 4)
	for _, t := range y.Ticks {
		view.Y = append(view.Y, mark{plotTop + plotHeight*(1-y.At(t.Value)), t.Label})
	}
	span := end.Sub(start)
	for _, t := range timeTicks(span, 6) {
		view.X = append(view.X, mark{plotLeft + plotWidth*t.Value, t.Label})
	}
	for i, s := range c.Lines {
		view.Lines = append(view.Lines, drawLine(i, s, y, start, span))
	}
	return view
}

func drawLine(i int, s series, y axis.Axis, start time.Time, span time.Duration) chartLine {
	dots := make([]dot, len(s.Points))
	for i, p := range s.Points {
		x := 0.0
		if span > 0 {
			x = float64(p.At.Sub(start)) / float64(span)
		}
		dots[i] = dot{plotLeft + plotWidth*x, plotTop + plotHeight*(1-y.At(p.Value)), p.Value}
	}
	last := dots[len(dots)-1]
	line := chartLine{Host: s.Host, Class: fmt.Sprintf("line%d", i%colours), Last: figure(last.Value), X: last.X, Y: last.Y}
	if i >= colours {
		line.Class += " dashed"
	}
	var points, values strings.Builder
	for _, d := range thin(dots, plotWidth) {
		fmt.Fprintf(&points, "%s,%s ", short(d.X), short(d.Y))
		values.WriteString(figure(d.Value))
		values.WriteByte(' ')
	}
	line.Points, line.Values = strings.TrimSpace(points.String()), strings.TrimSpace(values.String())
	return line
}

// short writes a coordinate to a tenth of a pixel.
func short(x float64) string { return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0") }
