// Package console is how commands talk to people: the standard streams, a progress bar, and text
// that is safe to show.
package console

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// ErrTold is the error of a command whose output says already what is wrong: it sets the exit
// status and is not shown.
var ErrTold = errors.New("the output says what is wrong")

// Told reports whether err needs no showing.
func Told(err error) bool { return errors.Is(err, ErrTold) }

// A UsageError says that the command line is wrong, which a command may find out from its input.
type UsageError struct{ error }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// A StatusError is an error with an exit status of its own.
type StatusError struct {
	Status int
	Err    error // what is shown, unless it is ErrTold
}

func (e StatusError) Error() string { return e.Err.Error() }
func (e StatusError) Unwrap() error { return e.Err }

// The exit statuses of all commands.
const (
	ExitFailure     = 1
	ExitUsage       = 2 // or data and settings that are at fault
	ExitInterrupted = 130
)

// Printable returns text as it is if it can't harm a terminal or a table, and quoted otherwise.
func Printable(text string) string {
	odd := func(c rune) bool { return !unicode.IsPrint(c) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// Harmless returns a message with what could harm a terminal replaced, such as from an object's key.
func Harmless(message string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, message)
}
