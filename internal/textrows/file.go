package textrows

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"os"
)

// File yields the rows of a CSV file, compressed with gzip or not, each valid during its step. An
// error is yielded last; it names the file, and where the data are wrong the line and the column.
func File(path string) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		text, err := Decompress(file)
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", path, err))
			return
		}
		for row, err := range NewCSV(text).All() {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// Decompress returns what src holds, decompressed where its first bytes are those of gzip.
func Decompress(src io.Reader) (io.Reader, error) {
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
