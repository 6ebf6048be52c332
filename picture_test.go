package algospec_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/cluster"
)

var aPicture = algospec.Picture{
	Name: "loss", Title: "Loss of each epoch", X: "epoch", Y: "loss",
	Bars:  []algospec.Series{{Y: []float64{3, 1.5}}},
	Lines: []algospec.Series{{Name: "validation", X: []float64{1, 2}, Y: []float64{4, 2}}},
}

func TestPicturesComeBackFromTheirFile(t *testing.T) {
	job := &algospec.Job{Output: algospec.Dir(t.TempDir())}
	require.NoError(t, job.SavePictures(algospec.Picture{Name: "first", Lines: aPicture.Lines}))
	require.NoError(t, job.SavePictures(aPicture))
	file, err := os.Open(filepath.Join(string(job.Output), algospec.PicturesFile))
	require.NoError(t, err)
	defer file.Close()
	pictures, err := algospec.ReadPictures(file)
	require.NoError(t, err)
	require.Equal(t, []algospec.Picture{aPicture}, pictures)
}

func TestOnlyTheLeaderSavesPictures(t *testing.T) {
	require.NoError(t, (&algospec.Job{}).SavePictures(aPicture), "a job without an output directory")
	dir := t.TempDir()
	for rank, c := range cluster.Loopback(2) {
		job := &algospec.Job{Output: algospec.Dir(dir), Cluster: c}
		require.NoError(t, job.SavePictures(aPicture))
		_, err := os.Stat(filepath.Join(dir, algospec.PicturesFile))
		require.Equal(t, rank == 0, err == nil)
		os.Remove(filepath.Join(dir, algospec.PicturesFile))
	}
}

func TestPicturesThatCannotBeDrawnAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *algospec.Picture)
		want   string
	}{
		"no number":         {func(p *algospec.Picture) { p.Bars[0].Y[1] = math.NaN() }, `picture loss: series "": value 2 is NaN`},
		"infinite":          {func(p *algospec.Picture) { p.Lines[0].X[0] = math.Inf(-1) }, `picture loss: series "validation": value 1 is -Inf`},
		"too great":         {func(p *algospec.Picture) { p.Lines[0].Y[0] = 1e308 }, `value 1 is 1e+308`},
		"no values":         {func(p *algospec.Picture) { p.Bars[0].Y = nil }, `no values`},
		"too many values":   {func(p *algospec.Picture) { p.Bars[0].Y = make([]float64, 10_001) }, `10001 values: at most 10000`},
		"places":            {func(p *algospec.Picture) { p.Lines[0].X = []float64{1} }, `2 values at 1 places`},
		"nothing":           {func(p *algospec.Picture) { p.Bars, p.Lines = nil, nil }, `0 series: want 1 to 6`},
		"too many series":   {func(p *algospec.Picture) { p.Bars = make([]algospec.Series, 7) }, `8 series: want 1 to 6`},
		"no name":           {func(p *algospec.Picture) { p.Name = "" }, `picture 1: name ""`},
		"a path":            {func(p *algospec.Picture) { p.Name = "../loss" }, `picture 1: name "../loss"`},
		"a long name":       {func(p *algospec.Picture) { p.Name = strings.Repeat("a", 61) }, `picture 1: name`},
		"a long text":       {func(p *algospec.Picture) { p.Title = strings.Repeat("é", 201) }, `a text of 201 letters`},
		"no UTF-8":          {func(p *algospec.Picture) { p.X = "\xff" }, `in UTF-8`},
		"control character": {func(p *algospec.Picture) { p.Lines[0].Name = "a\x00b" }, `the text "a\x00b": a control character`},
	} {
		t.Run(name, func(t *testing.T) {
			p := aPicture
			p.Bars = []algospec.Series{{Y: []float64{3, 1.5}}}
			p.Lines = []algospec.Series{{Name: "validation", X: []float64{1, 2}, Y: []float64{4, 2}}}
			c.change(&p)
			job := &algospec.Job{Output: algospec.Dir(t.TempDir())}
			require.ErrorContains(t, job.SavePictures(p), c.want)
			left, err := os.ReadDir(string(job.Output))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	job := &algospec.Job{}
	require.ErrorContains(t, job.SavePictures(aPicture, aPicture), "picture loss: there are two")
	require.ErrorContains(t, job.SavePictures(make([]algospec.Picture, 21)...), "21 pictures: at most 20")
}

// The largest pictures fit into the file, whatever their numbers.
func TestTheLargestPicturesComeBack(t *testing.T) {
	var pictures []algospec.Picture
	for i := range 10 {
		p := algospec.Picture{Name: fmt.Sprintf("p%d", i), Lines: []algospec.Series{{Y: make([]float64, 10_000)}}}
		for j := range p.Lines[0].Y {
			p.Lines[0].Y[j] = -1.2345678901234567e-123 * float64(j+1)
		}
		pictures = append(pictures, p)
	}
	job := &algospec.Job{Output: algospec.Dir(t.TempDir())}
	require.NoError(t, job.SavePictures(pictures...))
	file, err := os.Open(filepath.Join(string(job.Output), algospec.PicturesFile))
	require.NoError(t, err)
	defer file.Close()
	read, err := algospec.ReadPictures(file)
	require.NoError(t, err)
	require.Equal(t, pictures, read)
	require.ErrorContains(t, job.SavePictures(append(pictures, algospec.Picture{Name: "more", Lines: []algospec.Series{{Y: []float64{1}}}})...),
		"pictures of 100001 numbers: at most 100000")
}

func TestAPicturesFileOfOthersIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"":     "pictures.json: EOF",
		"{}":   "pictures.json: json: cannot unmarshal object",
		"[] 1": "pictures.json: more than one JSON value",
		`[{"Name": "a", "Lines": [{"Y": [1]}], "Colour": "red"}]`: `pictures.json: json: unknown field "Colour"`,
		`[{"Name": "a", "Lines": [{"Y": [1e999]}]}]`:              "pictures.json: json: cannot unmarshal number 1e999",
		`[{"Name": "a"}]`:            "pictures.json: picture a: 0 series",
		strings.Repeat(" ", 4<<20+1): "pictures.json: longer than 4194304 bytes",
	} {
		_, err := algospec.ReadPictures(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
	pictures, err := algospec.ReadPictures(strings.NewReader(`[{"Name": "a", "Lines": [{"Y": [1, 2]}]}]`))
	require.NoError(t, err)
	require.Equal(t, []algospec.Picture{{Name: "a", Lines: []algospec.Series{{Y: []float64{1, 2}}}}}, pictures)
}
