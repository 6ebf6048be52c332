package page

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/algospec/algospec/platform"
)

// longLine is how many bytes of a line are shown.
const longLine = 4 << 10

// escapes are the sequences that colour text and move the cursor on a terminal (ECMA-48): CSI, strings, others.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-Z\\-~])`)

// shown is a line as the page shows it: what a terminal would leave of it, in one colour. What is too long is cut.
func shown(line platform.Line) logLine {
	text := strings.TrimRight(line.Text, "\r")
	text = text[strings.LastIndexByte(text, '\r')+1:] // a progress bar writes over itself
	view := logLine{Time: line.Time}
	visible := visible(escapes.ReplaceAllString(head(text, 4*longLine), ""))
	view.Text = head(visible, longLine)
	if len(view.Text) < len(visible) || len(text) > 4*longLine {
		view.Cut = size(int64(len(text)))
	}
	return view
}

// head is at most n bytes of s, and cuts no character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// visible has pictures stand for control characters, and U+FFFD for what is no UTF-8.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r < 0x20:
			return r + 0x2400
		case r == 0x7f:
			return 0x2421
		case 0x80 <= r && r < 0xa0:
			return utf8.RuneError
		}
		return r
	}, s)
}
