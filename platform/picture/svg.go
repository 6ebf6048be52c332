package picture

import (
	"bytes"
	"html"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/algospec/algospec"
)

// Width and Height are the size of a drawing in points.
const (
	Width  = 440
	Height = 250
)

const margin = 10 // points around

// SVG draws a picture that algospec.ReadPictures or Job.SavePictures has found in order.
func SVG(p algospec.Picture) ([]byte, error) {
	chart := newPlot(p)
	var legend []entry
	for i, s := range p.Bars {
		drawn, err := newBars(s, i, len(p.Bars), palette[i].light)
		if err != nil {
			return nil, err
		}
		chart.Add(drawn)
		legend = append(legend, entry{s.Name, drawn})
	}
	for i, s := range p.Lines {
		line, points, err := plotter.NewLinePoints(places(s))
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = palette[len(p.Bars)+i].light, 1.5
		chart.Add(line)
		if len(s.Y) <= 40 {
			points.GlyphStyle = draw.GlyphStyle{Color: line.Color, Radius: 2, Shape: draw.CircleGlyph{}}
			chart.Add(points)
		}
		legend = append(legend, entry{s.Name, line})
	}
	scale(chart, p)
	canvas := vgsvg.New(Width, Height)
	paint(chart, p.Title, legend, draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return finish(b.Bytes(), p), nil
}

// paint puts the title and the legend above the chart.
func paint(chart *plot.Plot, title string, legend []entry, c draw.Canvas) {
	c.SetColor(card.light)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	if title != "" {
		style := textStyle(13, ink)
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, fit(style, title, c.Size().X))
		c.Max.Y -= 20
	}
	if slices.ContainsFunc(legend, func(e entry) bool { return e.name != "" }) {
		paintLegend(legend, c)
		c.Max.Y -= 18
	}
	chart.X.Label.Text = fit(chart.X.Label.TextStyle, chart.X.Label.Text, c.Size().X-60)
	chart.Y.Label.Text = fit(chart.Y.Label.TextStyle, chart.Y.Label.Text, c.Size().Y-30)
	chart.Draw(c)
}

// An entry is a line of the legend.
type entry struct {
	name string
	plot.Thumbnailer
}

func paintLegend(legend []entry, c draw.Canvas) {
	const mark, gap = 14, 5
	style := textStyle(11, soft)
	x := c.Min.X
	for _, e := range legend {
		if e.name == "" {
			continue
		}
		name := fit(style, e.name, c.Max.X-x-mark-gap)
		if name == "" {
			break
		}
		key := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: x, Y: c.Max.Y - 11}, Max: vg.Point{X: x + mark, Y: c.Max.Y - 2},
		}}
		e.Thumbnail(&key)
		x += mark + gap
		c.FillText(style, vg.Point{X: x, Y: c.Max.Y}, name)
		x += style.Width(name) + 2*mark
	}
}

// finish puts a description for those who do not see the drawing into it, the colours of the dark, and families of
// fonts for machines that lack the one that the drawing was measured with.
func finish(svg []byte, p algospec.Picture) []byte {
	head, rest, _ := strings.Cut(string(svg), "xlink\">\n")
	described := head + "xlink\" role=\"img\">\n<title>" + html.EscapeString(p.Title) + "</title>\n" + darkStyle + rest
	return []byte(strings.ReplaceAll(described, "font-family:"+family+";", "font-family:'"+family+"',Arial,Helvetica,sans-serif;"))
}
