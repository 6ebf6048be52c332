package algospec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"
)

// PicturesFile is the file of a job's output in which it describes its pictures: a JSON list of Pictures.
const PicturesFile = "pictures.json"

// A Picture is a chart of what came out of a training: bars, and lines over them. It holds the numbers and no
// drawing, so that an algorithm needs no plot library and a platform needs to know no algorithm; "algospec run"
// and the page of "algospec platform" draw it. Its JSON has the names of the fields. A job has up to 20 pictures,
// a picture up to 6 series, a series up to 10,000 values, all finite, and together they are up to 100,000 numbers.
type Picture struct {
	Name  string // of its file: lower-case letters and digits, with hyphens between, as in "explained-variance"
	Title string
	X, Y  string   // what the axes are
	Bars  []Series `json:",omitempty"`
	Lines []Series `json:",omitempty"`
}

// A Series is numbers that are drawn alike.
type Series struct {
	Name string    `json:",omitempty"` // in the legend; "" has no place there
	X    []float64 `json:",omitempty"` // of each of Y; nil means 1, 2, 3, …
	Y    []float64
}

// What a list of pictures may hold at most, so that none can burden those who look.
const (
	maxPictures       = 20
	maxPictureSeries  = 6       // of bars and lines together
	maxPictureValues  = 10_000  // of a Series
	maxPictureLetters = 200     // of a text
	maxPictureNumbers = 100_000 // of all pictures, which is half the file at most
	maxPicturesBytes  = 4 << 20 // of the file

	maxPictureValue = math.MaxFloat64 / 16 // leaves the drawing room for differences and margins
)

// SavePictures saves the pictures for a platform to draw, in place of those that were saved before. The leader's
// count, and other hosts save none; nor does a job without an output directory. It returns an error where a
// picture could not be drawn.
func (j *Job) SavePictures(pictures ...Picture) error {
	if err := checkPictures(pictures); err != nil {
		return err
	}
	if !j.Cluster.Leader() || j.Output == "" {
		return nil
	}
	text, err := json.Marshal(pictures)
	if err != nil {
		return err
	}
	return j.Output.Save(PicturesFile, bytes.NewReader(text))
}

// ReadPictures reads a PicturesFile, which may come from anybody: those it returns can be drawn.
func ReadPictures(r io.Reader) ([]Picture, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPicturesBytes+1))
	if err == nil && len(text) > maxPicturesBytes {
		err = fmt.Errorf("longer than %d bytes", maxPicturesBytes)
	}
	var pictures []Picture
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err = decoder.Decode(&pictures); err == nil && decoder.More() {
			err = errors.New("more than one JSON value")
		}
	}
	if err == nil {
		err = checkPictures(pictures)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", PicturesFile, err)
	}
	return pictures, nil
}

var pictureName = regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)

func checkPictures(pictures []Picture) error {
	if len(pictures) > maxPictures {
		return fmt.Errorf("%d pictures: at most %d", len(pictures), maxPictures)
	}
	seen, numbers := map[string]bool{}, 0
	for i, p := range pictures {
		if !pictureName.MatchString(p.Name) || len(p.Name) > 60 {
			return fmt.Errorf("picture %d: name %q: want up to 60 lower-case letters, digits, and hyphens between", i+1, p.Name)
		}
		if seen[p.Name] {
			return fmt.Errorf("picture %s: there are two", p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return fmt.Errorf("picture %s: %w", p.Name, err)
		}
		for _, s := range slices.Concat(p.Bars, p.Lines) {
			numbers += len(s.X) + len(s.Y)
		}
	}
	if numbers > maxPictureNumbers {
		return fmt.Errorf("pictures of %d numbers: at most %d", numbers, maxPictureNumbers)
	}
	return nil
}

func (p *Picture) check() error {
	if n := len(p.Bars) + len(p.Lines); n == 0 || n > maxPictureSeries {
		return fmt.Errorf("%d series: want 1 to %d", n, maxPictureSeries)
	}
	for _, text := range []string{p.Title, p.X, p.Y} {
		if err := checkText(text); err != nil {
			return err
		}
	}
	for _, s := range slices.Concat(p.Bars, p.Lines) {
		if err := s.check(); err != nil {
			return fmt.Errorf("series %q: %w", s.Name, err)
		}
	}
	return nil
}

func (s *Series) check() error {
	switch n := len(s.Y); {
	case n == 0:
		return errors.New("no values")
	case n > maxPictureValues:
		return fmt.Errorf("%d values: at most %d", n, maxPictureValues)
	case s.X != nil && len(s.X) != n:
		return fmt.Errorf("%d values at %d places", n, len(s.X))
	}
	for _, values := range [][]float64{s.X, s.Y} {
		for i, v := range values {
			if math.IsNaN(v) || math.Abs(v) > maxPictureValue {
				return fmt.Errorf("value %d is %v", i+1, v)
			}
		}
	}
	return checkText(s.Name)
}

func checkText(text string) error {
	if n := utf8.RuneCountInString(text); n > maxPictureLetters || !utf8.ValidString(text) {
		return fmt.Errorf("a text of %d letters: want at most %d, in UTF-8", n, maxPictureLetters)
	}
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff { // which XML cannot hold, or a line cannot
			return fmt.Errorf("the text %q: a control character", text)
		}
	}
	return nil
}
