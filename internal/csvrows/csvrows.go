// Package csvrows reads files of numbers: CSV, compressed with gzip or not.
package csvrows

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
)

// File yields the rows of a file, each valid during its step. An error is yielded last; it names
// the file, the line and the column.
func File(path string) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		for row, err := range read(file) {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func read(src io.Reader) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		text, err := decompress(src)
		if err != nil {
			yield(nil, err)
			return
		}
		lines := csv.NewReader(text)
		lines.ReuseRecord = true
		lines.TrimLeadingSpace = true
		var row []float32
		for {
			fields, err := lines.Read()
			if err == io.EOF {
				return
			}
			if err == nil {
				row, err = parse(row[:0], fields, lines)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// decompress recognises gzip by its first bytes.
func decompress(src io.Reader) (io.Reader, error) {
	text := bufio.NewReaderSize(src, 1<<16)
	head, err := text.Peek(2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(text)
	}
	return text, nil
}

func parse(row []float32, fields []string, lines *csv.Reader) ([]float32, error) {
	for i, field := range fields {
		x, err := strconv.ParseFloat(field, 32)
		if err != nil {
			line, _ := lines.FieldPos(i)
			if errors.Is(err, strconv.ErrSyntax) {
				err = errors.New("not a number")
			}
			hint := ""
			if line == 1 {
				hint = " (a header line? the file must have none)"
			}
			return row, fmt.Errorf("line %d, column %d: %q: %v%s", line, i+1, field, err, hint)
		}
		row = append(row, float32(x))
	}
	return row, nil
}
