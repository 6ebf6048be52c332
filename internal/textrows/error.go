package textrows

import (
	"errors"
	"fmt"
	"io"
)

// An Error says where in the text the data are wrong.
type Error struct {
	Line   int64 // from 1
	Offset int64 // of the line's first byte in the text
	Column int   // number of the field in its line, from 1; 0 where the line as a whole is meant
	Err    error // what is wrong
}

func (e *Error) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ByteOffset returns Offset; a channel whose data are files says with it in which one.
func (e *Error) ByteOffset() int64 { return e.Offset }

// ClientError reports that the data are at fault.
func (e *Error) ClientError() bool { return true }

var (
	errMissing   = errors.New("no number")
	errNotNumber = errors.New("not a number")
	errNotFinite = errors.New("not a finite number")
	errTooLarge  = errors.New("too large for float32")
	errOpenQuote = errors.New("a quoted field that does not end on its line")
	errPastQuote = errors.New("text after a quoted field")
)

func isEnd(err error) bool { return err == io.EOF }

// quoted returns the error that err is about token, of which a long one is cut.
func quoted(token []byte, err error) error {
	const most = 64
	if len(token) > most {
		return fmt.Errorf("%q…: %w", token[:most], err)
	}
	return fmt.Errorf("%q: %w", token, err)
}
