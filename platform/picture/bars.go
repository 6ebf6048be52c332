package picture

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/algospec/algospec"
)

// A drawn is a series in the chart and in its legend.
type drawn interface {
	plot.Plotter
	plot.Thumbnailer
}

// manyBars is how many are drawn as the steps of an area: between thinner ones there is nothing to see but the grid
// of the screen.
const manyBars = 120

// newBars draws series i of several that stand side by side.
func newBars(s algospec.Series, i, of int, c color.Color) (drawn, error) {
	at := places(s)
	if len(at) > manyBars && of == 1 && slices.Min(s.Y) >= 0 && slices.IsSortedFunc(at, byX) {
		line, err := plotter.NewLine(at)
		if err != nil {
			return nil, err
		}
		line.StepStyle, line.FillColor, line.Color = plotter.MidStep, c, c
		return line, nil
	}
	gap := closest(at)
	width := 0.8 * gap / float64(of)
	return &bars{at, -0.4*gap + float64(i)*width, width, c}, nil
}

// closest is the distance of the two places that are next to each other; 1 where there are no two.
func closest(at plotter.XYs) float64 {
	sorted := slices.SortedFunc(slices.Values(at), byX)
	gap := math.Inf(1)
	for i := 1; i < len(sorted); i++ {
		if d := sorted[i].X - sorted[i-1].X; d > 0 {
			gap = min(gap, d)
		}
	}
	if math.IsInf(gap, 1) {
		return 1
	}
	return gap
}

func byX(a, b plotter.XY) int {
	switch {
	case a.X < b.X:
		return -1
	case a.X > b.X:
		return 1
	}
	return 0
}

// bars rise from 0, or fall. Those of gonum/plot stand at whole numbers only, and its histogram's begin at the
// bottom.
type bars struct {
	at            plotter.XYs
	offset, width float64 // in the numbers of the axis
	color         color.Color
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, chart *plot.Plot) {
	x, y := chart.Transforms(&c)
	for _, p := range b.at {
		left, right := x(p.X+b.offset), x(p.X+b.offset+b.width)
		bottom, top := y(0), y(p.Y)
		c.FillPolygon(b.color, []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}})
	}
}

// DataRange implements plot.DataRanger.
func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = plotter.XYRange(b.at)
	return xmin + min(b.offset, -b.width/2), xmax + max(b.offset+b.width, b.width/2), min(ymin, 0), max(ymax, 0)
}

// Thumbnail implements plot.Thumbnailer.
func (b *bars) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.color, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}
