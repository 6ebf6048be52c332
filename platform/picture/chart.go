package picture

import (
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform/internal/axis"
)

// newPlot is the axes of a picture.
func newPlot(p algospec.Picture) *plot.Plot {
	chart := plot.New()
	chart.BackgroundColor = nil // it is painted below the title, too
	chart.X.Label.Text, chart.Y.Label.Text = p.X, p.Y
	for _, a := range []*plot.Axis{&chart.X, &chart.Y} {
		a.Label.TextStyle = restyle(a.Label.TextStyle, soft)
		a.Tick.Label = restyle(a.Tick.Label, soft)
		a.LineStyle.Color, a.Tick.LineStyle.Color = rule.light, rule.light
		a.Tick.Length = 4
		a.Padding = 0
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color = rule.light
	chart.Add(grid)
	return chart
}

// scale sets the ranges of both axes, and their ticks. That of the values ends at ticks; bars rise from 0.
func scale(chart *plot.Plot, p algospec.Picture) {
	var low, high float64
	if len(p.Bars) == 0 {
		low, high = p.Lines[0].Y[0], p.Lines[0].Y[0]
	}
	counted := true
	for _, s := range slices.Concat(p.Bars, p.Lines) {
		low, high = min(low, slices.Min(s.Y)), max(high, slices.Max(s.Y))
		counted = counted && s.X == nil
	}
	y := axis.Over(low, high, 4)
	chart.Y.Min, chart.Y.Max, chart.Y.Tick.Marker = y.Low, y.High, marks(y.Ticks)
	x := axis.Over(chart.X.Min, chart.X.Max, 7)
	if span := chart.X.Max - chart.X.Min; span <= 1e-12*max(-chart.X.Min, chart.X.Max) || span < 1e-300 { // one place, as near as can be drawn
		chart.X.Min, chart.X.Max = x.Low, x.High
	}
	if n := int(chart.X.Max); counted && n <= 12 {
		x.Ticks = nil
		for i := range n {
			x.Ticks = append(x.Ticks, axis.Tick{Value: float64(i + 1), Label: strconv.Itoa(i + 1)})
		}
	}
	chart.X.Tick.Marker = marks(x.Ticks)
}

func marks(ticks []axis.Tick) (all plot.ConstantTicks) {
	for _, t := range ticks {
		all = append(all, plot.Tick{Value: t.Value, Label: t.Label})
	}
	return all
}

// places are the points of a series.
func places(s algospec.Series) plotter.XYs {
	at := make(plotter.XYs, len(s.Y))
	for i, y := range s.Y {
		at[i] = plotter.XY{X: float64(i + 1), Y: y}
		if s.X != nil {
			at[i].X = s.X[i]
		}
	}
	return at
}

// fit cuts a text to a width.
func fit(style text.Style, s string, width vg.Length) string {
	if style.Width(s) <= width {
		return s
	}
	letters := []rune(s)
	for n := len(letters) - 1; n > 0; n-- {
		if cut := string(letters[:n]) + "…"; style.Width(cut) <= width {
			return cut
		}
	}
	return ""
}
