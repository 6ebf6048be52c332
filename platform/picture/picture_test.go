package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

var explained = algospec.Picture{
	Name: "explained-variance", Title: "Explained variance", X: "component", Y: "share",
	Bars:  []algospec.Series{{Name: "each", Y: []float64{0.5, 0.25, 0.125}}},
	Lines: []algospec.Series{{Name: "together", Y: []float64{0.5, 0.75, 0.875}}},
}

// texts returns what a drawing says, and fails where it is no XML, or holds what an image has no use for.
func texts(t require.TestingT, svg []byte) (all []string) {
	inText := false
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, string(svg))
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text" || token.Name.Local == "title"
			require.Contains(t, []string{"svg", "title", "style", "g", "path", "text"}, token.Name.Local)
			for _, a := range token.Attr {
				require.NotContains(t, a.Value, "NaN")
				require.NotContains(t, a.Value, "Inf")
				require.NotContains(t, []string{"href", "src", "onload"}, a.Name.Local)
			}
		case xml.CharData:
			if inText {
				all = append(all, string(token))
			}
			inText = false
		}
	}
}

func TestADrawingSaysWhatThePictureDoes(t *testing.T) {
	svg, err := SVG(explained)
	require.NoError(t, err)
	require.Equal(t, []string{"Explained variance", "Explained variance", "each", "together", "component", "1", "2", "3", "share", "0.0", "0.5", "1.0"},
		texts(t, svg))
	require.Contains(t, string(svg), "prefers-color-scheme: dark")
	require.NotRegexp(t, `(?i)url\(|@import|@font-face|<script`, string(svg))
}

// Bars and points are where the numbers say: the plot's own picture of the axes is the ruler.
func TestBarsAndPointsStandWhereTheNumbersSay(t *testing.T) {
	svg, err := SVG(explained)
	require.NoError(t, err)
	var tops []float64
	for _, match := range regexp.MustCompile(`d="M([\d.]+),([\d.]+)L[\d.]+,([\d.]+)L[^"]*" style="fill:#1F5FBF`).FindAllStringSubmatch(string(svg), -1) {
		var x, bottom, top float64
		fmt.Sscan(match[1], &x)
		fmt.Sscan(match[2], &bottom)
		fmt.Sscan(match[3], &top)
		tops = append(tops, top-bottom)
	}
	require.Len(t, tops, 4) // with that of the legend
	require.InDelta(t, 2, tops[1]/tops[2], 1e-2)
	require.InDelta(t, 4, tops[1]/tops[3], 1e-2)
}

func TestTheSamePictureIsTheSameBytesAlsoAtOnce(t *testing.T) {
	want, err := SVG(explained)
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, err := SVG(explained)
			if err != nil || !bytes.Equal(want, got) {
				t.Errorf("another drawing: %v", err)
			}
		})
	}
	group.Wait()
}

// The drawing of a picture does not change by mistake. ALGOSPEC_UPDATE=1 writes it anew, to be looked at.
func TestADrawingIsAsItWas(t *testing.T) {
	golden := filepath.Join("testdata", "explained-variance.svg")
	got, err := SVG(explained)
	require.NoError(t, err)
	if os.Getenv("ALGOSPEC_UPDATE") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// Whatever a pictures.json holds that is in order can be drawn, and is a drawing of finite places.
func TestAnyPictureInOrderCanBeDrawn(t *testing.T) {
	number := rapid.Float64Range(-math.MaxFloat64/16, math.MaxFloat64/16)
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aZ9 <&>\"'/é漢😀\u202e\ufeff")), 0, 200, -1)
	series := rapid.Custom(func(t *rapid.T) algospec.Series {
		s := algospec.Series{Name: text.Draw(t, "name"), Y: rapid.SliceOfN(number, 1, 150).Draw(t, "y")}
		if rapid.Bool().Draw(t, "placed") {
			s.X = rapid.SliceOfN(number, len(s.Y), len(s.Y)).Draw(t, "x")
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		p := algospec.Picture{
			Name: "p", Title: text.Draw(t, "title"), X: text.Draw(t, "x"), Y: text.Draw(t, "y"),
			Bars: rapid.SliceOfN(series, 1, 3).Draw(t, "bars"), Lines: rapid.SliceOfN(series, 0, 3).Draw(t, "lines"),
		}
		if rapid.Bool().Draw(t, "without bars") {
			p.Bars, p.Lines = nil, p.Bars
		}
		require.NoError(t, (&algospec.Job{}).SavePictures(p))
		svg, err := SVG(p)
		require.NoError(t, err)
		texts(t, svg)
	})
}

func TestTextsThatDoNotFitAreCut(t *testing.T) {
	p := explained
	p.Title, p.X, p.Y, p.Lines[0].Name = strings.Repeat("W", 200), strings.Repeat("x", 200), strings.Repeat("y", 200), strings.Repeat("n", 200)
	defer func() { p.Lines[0].Name = "together" }()
	svg, err := SVG(p)
	require.NoError(t, err)
	cut := 0
	for _, text := range texts(t, svg)[1:] {
		require.LessOrEqual(t, len(text), 150)
		if strings.HasSuffix(text, "…") {
			cut++
		}
	}
	require.Equal(t, 4, cut)
}

func TestCurvesOfMetrics(t *testing.T) {
	var c Curves
	add := func(name, host string, values ...float64) {
		for _, v := range values {
			c.Add(platform.Metric{Name: name, Host: host, Value: v})
		}
	}
	add("train:loss", "algo-1", 3, 2, math.NaN(), 1)
	add("once", "algo-1", 1)
	add("train:progress", "algo-1", 50, 100)
	add("Val (top 5)", "algo-1", 1, 2)
	add("Val (top 5)", "algo-2", 3)
	add("val/top 5", "algo-1", 1, 2)
	pictures := c.Pictures()
	require.Equal(t, []algospec.Picture{
		{Name: "metric-train-loss", Title: "train:loss", X: "value", Y: "train:loss", Lines: []algospec.Series{{Y: []float64{3, 2, 1}}}},
		{Name: "metric-val-top-5", Title: "Val (top 5)", X: "value", Y: "Val (top 5)",
			Lines: []algospec.Series{{Name: "algo-1", Y: []float64{1, 2}}, {Name: "algo-2", Y: []float64{3}}}},
		{Name: "metric-val-top-5-2", Title: "val/top 5", X: "value", Y: "val/top 5", Lines: []algospec.Series{{Y: []float64{1, 2}}}},
	}, pictures)
	require.NoError(t, (&algospec.Job{}).SavePictures(pictures...))
}

// However many values there are, the memory and the drawing stay small, and each kept value stands at its number.
func TestACurveOfManyValuesKeepsSomeOfThem(t *testing.T) {
	for _, n := range []int{1999, 2000, 2001, 2002, 4003, 123457} {
		var c Curves
		for i := range n {
			c.Add(platform.Metric{Name: "loss", Host: "algo-1", Value: float64(i + 1)})
		}
		s := c.Pictures()[0].Lines[0]
		require.LessOrEqual(t, len(s.Y), 2002, n)
		require.GreaterOrEqual(t, len(s.Y), 1000, n)
		require.Equal(t, float64(n), s.Y[len(s.Y)-1])
		for i, y := range s.Y {
			if s.X == nil {
				require.Equal(t, float64(i+1), y)
			} else {
				require.Equal(t, s.X[i], y)
			}
		}
	}
}
