package picture

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg/draw"
)

// A colour is what a part of a drawing has by day and by night, as the page around it.
type colour struct{ light, dark color.RGBA }

func rgb(light, dark uint32) colour {
	solid := func(c uint32) color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255} }
	return colour{solid(light), solid(dark)}
}

var (
	card = rgb(0xffffff, 0x1a1f27)
	rule = rgb(0xdfe2e7, 0x2e3540)
	ink  = rgb(0x1c2230, 0xe3e7ee)
	soft = rgb(0x566074, 0x9aa5b8)

	palette = [6]colour{ // of series
		rgb(0x1f5fbf, 0x74a9ff), rgb(0xc2570c, 0xffa257), rgb(0x1d7a3e, 0x5fce87),
		rgb(0xa3246f, 0xff85c2), rgb(0x6d3fc0, 0xb79bff), rgb(0x0b7285, 0x4cc3d6),
	}
)

// darkStyle replaces each colour of the light by its counterpart. The drawing has them in attributes, so that viewers
// without style sheets show them.
var darkStyle = func() string {
	hex := func(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
	var b strings.Builder
	b.WriteString("<style>@media (prefers-color-scheme: dark) {\n")
	for _, c := range append(palette[:], card, rule, ink, soft) {
		for _, what := range []string{"fill", "stroke"} {
			fmt.Fprintf(&b, "[style*=\"%s:%s\"] { %s: %s !important }\n", what, hex(c.light), what, hex(c.dark))
		}
	}
	b.WriteString("}</style>\n")
	return b.String()
}()

// family is the font that texts are measured with.
const family = "Liberation Sans"

func sans(size font.Length) font.Font {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	return f
}

// textStyle is that of a text whose upper left corner has a place.
func textStyle(size font.Length, c colour) text.Style {
	return text.Style{Color: c.light, Font: sans(size), XAlign: draw.XLeft, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
}

// restyle is the style of an axis in the drawing's font.
func restyle(s text.Style, c colour) text.Style {
	s.Color, s.Font = c.light, sans(11)
	return s
}
