package textrows

import (
	"bytes"
	"fmt"
	"io"
	"iter"
)

// A CSV reads rows of comma-separated numbers. There is no header line. Blanks around a number
// and double quotes around a field are accepted; a field that is missing, or that is no decimal
// number, is an error. Set the fields before the first call of Next.
type CSV struct {
	Columns   int  // fields of each line; 0 means as many as the first one has
	MaxLine   int  // longest line accepted, in bytes; 0 means DefaultMaxLine
	NonFinite bool // accepts NaN and Inf, with a sign, in upper or lower case

	lines lines
	row   []float32
	err   error // sticky
}

// NewCSV returns a CSV of the text in src.
func NewCSV(src io.Reader) *CSV { return &CSV{lines: lines{src: src}} }

// Next returns the next row, valid until the following call. Each has at least one number, and
// all have equally many.
func (c *CSV) Next() ([]float32, error) {
	if c.err != nil {
		return nil, c.err
	}
	line, err := c.lines.next(c.MaxLine)
	if err == nil {
		err = c.parse(line)
	}
	if err != nil {
		c.err = err
		return nil, err
	}
	return c.row, nil
}

// All yields the remaining rows, each valid during its step. An error is yielded last, once.
func (c *CSV) All() iter.Seq2[[]float32, error] { return all(c.Next) }

// Line returns the number of the line, from 1, that Next returned last.
func (c *CSV) Line() int64 { return c.lines.number }

// At places err, which concerns the line that Next returned last, in the text.
func (c *CSV) At(err error) error { return c.lines.fail(0, err) }

// Offset returns how many bytes of the text the lines returned so far take.
func (c *CSV) Offset() int64 { return c.lines.offset }

// parse parses a line into c.row.
func (c *CSV) parse(line []byte) error {
	row := c.row[:0]
	for i := 0; ; i++ {
		x, next := scanNumber(line, i)
		if next == i || next < len(line) && line[next] != ',' {
			var err error
			if x, next, err = c.oddField(line, i); err != nil {
				return c.lines.fail(len(row)+1, err)
			}
		}
		row = append(row, x)
		if i = next; i == len(line) {
			break
		}
	}
	c.row = row
	if c.Columns == 0 {
		c.Columns = len(row)
	}
	if len(row) != c.Columns {
		return c.lines.fail(0, fmt.Errorf("%d columns, want %d", len(row), c.Columns))
	}
	return nil
}

// oddField parses the field that begins at line[i] and is not merely a number, and returns the
// index of its end.
func (c *CSV) oddField(line []byte, i int) (x float32, next int, err error) {
	for i < len(line) && isBlank(line[i]) {
		i++
	}
	next = i + bytes.IndexByte(line[i:], ',')
	if next < i {
		next = len(line)
	}
	field := line[i:next]
	if i < len(line) && line[i] == '"' {
		size := bytes.IndexByte(line[i+1:], '"')
		if size < 0 {
			return 0, 0, quoted(line[i:], errOpenQuote)
		}
		next = i + 1 + size + 1
		if next < len(line) && line[next] != ',' {
			return 0, 0, quoted(line[i:], errPastQuote)
		}
		field = line[i+1 : next-1]
	}
	x, err = number(trimBlanks(field), c.NonFinite)
	if err != nil && c.lines.number == 1 {
		err = fmt.Errorf("%w (a header line? there must be none)", err)
	}
	return x, next, err
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

func trimBlanks(s []byte) []byte {
	for len(s) > 0 && isBlank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}
