package hyperparams

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An interval is a range of numbers whose ends may belong to it or not.
type interval struct {
	text                  string
	low, high             float64
	lowClosed, highClosed bool
}

// parseInterval reads interval notation: [1,10], (0,1), [0,). An end left out is
// unbounded and therefore open.
func parseInterval(text string) (interval, error) {
	malformed := fmt.Errorf("range %q: want an interval such as [1,10], (0,1) or [0,)", text)
	inner := strings.Trim(text, "[]()")
	low, high, ok := strings.Cut(inner, ",")
	if !ok || len(text) != len(inner)+2 || !strings.Contains("[(", text[:1]) || !strings.Contains("])", text[len(text)-1:]) {
		return interval{}, malformed
	}
	v := interval{text: text, lowClosed: text[0] == '[', highClosed: text[len(text)-1] == ']'}
	var err error
	if v.low, err = parseEnd(low, math.Inf(-1)); err != nil || low == "" && v.lowClosed {
		return interval{}, malformed
	}
	if v.high, err = parseEnd(high, math.Inf(+1)); err != nil || high == "" && v.highClosed {
		return interval{}, malformed
	}
	if v.low > v.high || v.low == v.high && !(v.lowClosed && v.highClosed) {
		return interval{}, fmt.Errorf("range %q: nothing is in it", text)
	}
	return v, nil
}

func parseEnd(text string, unbounded float64) (float64, error) {
	if text == "" {
		return unbounded, nil
	}
	if !decimal.MatchString(text) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

func (v interval) contains(x float64) bool {
	above := x > v.low || v.lowClosed && x == v.low
	below := x < v.high || v.highClosed && x == v.high
	return above && below
}

func (v interval) String() string { return v.text }
