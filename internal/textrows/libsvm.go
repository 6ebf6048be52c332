package textrows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
)

// A LibSVM reads sparse rows of the form
//
//	label index:value index:value … # comment
//
// with any number of blanks between the tokens. The label is a number, or several with commas
// between them; a line may also begin with its first pair, and has no label then. qid:n, as
// ranking data have it, is skipped. Indices count from 1 and stand in any order, each once. A line
// that holds nothing but a comment is skipped. Set the fields before the first call of Next.
type LibSVM struct {
	Columns   int  // the width of the rows; 0 means that it is not known: Row.Columns is 0
	MaxLine   int  // longest line accepted, in bytes; 0 means DefaultMaxLine
	FromZero  bool // indices count from 0
	NonFinite bool // accepts NaN and Inf, with a sign, in upper or lower case

	lines  lines
	keys   []int32
	values []float32
	label  []float32
	sorted []int32
	err    error // sticky
}

// NewLibSVM returns a LibSVM of the text in src.
func NewLibSVM(src io.Reader) *LibSVM {
	return &LibSVM{lines: lines{src: src}, keys: []int32{}}
}

// Next returns the next row, which is sparse, valid until the following call.
func (l *LibSVM) Next() (Row, error) {
	if l.err != nil {
		return Row{}, l.err
	}
	for {
		line, err := l.lines.next(l.MaxLine)
		if err != nil {
			l.err = err
			return Row{}, err
		}
		if comment := bytes.IndexByte(line, '#'); comment >= 0 {
			line = line[:comment]
		}
		if line = trimBlanks(line); len(line) == 0 {
			continue
		}
		if err := l.parse(line); err != nil {
			l.err = l.lines.fail(0, err)
			return Row{}, l.err
		}
		return Row{Columns: l.Columns, Keys: l.keys, Values: l.values, Label: l.label}, nil
	}
}

// All yields the remaining rows, each valid during its step. An error is yielded last, once.
func (l *LibSVM) All() iter.Seq2[Row, error] { return all(l.Next) }

// Line returns the number of the line, from 1, that Next returned last.
func (l *LibSVM) Line() int64 { return l.lines.number }

// At places err, which concerns the line that Next returned last, in the text.
func (l *LibSVM) At(err error) error { return l.lines.fail(0, err) }

// Offset returns how many bytes of the text the lines returned so far take.
func (l *LibSVM) Offset() int64 { return l.lines.offset }

// parse parses a line that is neither empty nor begins or ends with a blank.
func (l *LibSVM) parse(line []byte) error {
	l.keys, l.values, l.label = l.keys[:0], l.values[:0], l.label[:0]
	ascending := true
	for first := true; len(line) > 0; first = false {
		end := 1
		for end < len(line) && !isBlank(line[end]) {
			end++
		}
		token := line[:end]
		line = trimLeft(line[end:])
		colon := bytes.IndexByte(token, ':')
		switch {
		case colon < 0 && first:
			if err := l.parseLabel(token); err != nil {
				return err
			}
			continue
		case colon < 0:
			return quoted(token, errors.New("not index:value"))
		case string(token[:colon]) == "qid":
			continue
		}
		key, err := l.parseIndex(token, colon)
		if err != nil {
			return err
		}
		x, next := scanNumber(token, colon+1)
		if next == colon+1 || next < len(token) {
			if x, err = number(token[colon+1:], l.NonFinite); err != nil {
				return quoted(token, bare(err))
			}
		}
		ascending = ascending && (len(l.keys) == 0 || key > l.keys[len(l.keys)-1])
		l.keys = append(l.keys, key)
		l.values = append(l.values, x)
	}
	if !ascending {
		return l.checkDistinct()
	}
	return nil
}

func (l *LibSVM) parseLabel(token []byte) error {
	for rest := token; ; {
		part, after, more := bytes.Cut(rest, []byte(","))
		x, err := number(part, l.NonFinite)
		if err != nil {
			return quoted(token, fmt.Errorf("as a label: %w", bare(err)))
		}
		l.label = append(l.label, x)
		if rest = after; !more {
			return nil
		}
	}
}

// parseIndex returns the column that token[:colon] means.
func (l *LibSVM) parseIndex(token []byte, colon int) (int32, error) {
	index := uint64(0)
	for _, c := range token[:colon] {
		if c-'0' > 9 {
			return 0, quoted(token, errors.New("the index is not a whole number"))
		}
		if index = index*10 + uint64(c-'0'); index > math.MaxInt32 {
			return 0, quoted(token, errors.New("the index is too large"))
		}
	}
	switch {
	case colon == 0:
		return 0, quoted(token, errors.New("no index"))
	case !l.FromZero && index == 0:
		return 0, quoted(token, errors.New("index 0, where the first is 1"))
	case !l.FromZero:
		index--
	case index == math.MaxInt32:
		return 0, quoted(token, errors.New("the index is too large"))
	}
	if l.Columns > 0 && index >= uint64(l.Columns) {
		return 0, quoted(token, fmt.Errorf("past the last of %d columns", l.Columns))
	}
	return int32(index), nil
}

// checkDistinct reports the first key that stands twice.
func (l *LibSVM) checkDistinct() error {
	l.sorted = append(l.sorted[:0], l.keys...)
	slices.Sort(l.sorted)
	for i := 1; i < len(l.sorted); i++ {
		if l.sorted[i] == l.sorted[i-1] {
			index := int64(l.sorted[i])
			if !l.FromZero {
				index++
			}
			return fmt.Errorf("index %d twice", index)
		}
	}
	return nil
}

// bare returns what err says about a token, without the token.
func bare(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

func trimLeft(s []byte) []byte {
	for len(s) > 0 && isBlank(s[0]) {
		s = s[1:]
	}
	return s
}
