// Package textrows reads rows of numbers from text: CSV ([CSV]), LibSVM ([LibSVM]) and JSON lines
// ([JSONLines]). Numbers are float32, exactly the ones that strconv.ParseFloat(s, 32) returns.
//
// A reader wraps an io.Reader, which needs no buffering, and reuses its memory: what Next returns
// is valid until the following call. Memory grows with what has arrived, and one line may take
// MaxLine bytes at most. Malformed data are an *[Error], which names the line; what the io.Reader
// says is passed on as it is. After an error, Next returns the same error again. io.EOF is the end.
//
// Lines end with LF or CRLF, the last one with either or nothing; empty lines are skipped, and so
// is a byte order mark at the start of the text.
package textrows

import (
	"iter"

	"github.com/algospec/algospec/recordio"
)

// Row is a row, sparse or dense.
type Row = recordio.Row

// all yields what next returns, up to io.EOF; another error is yielded last, once.
func all[T any](next func() (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			row, err := next()
			if isEnd(err) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}
