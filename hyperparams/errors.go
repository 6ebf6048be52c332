package hyperparams

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrMissing is in the [Problem] of a required hyperparameter without a value.
	ErrMissing = errors.New("required, but has no value")
	// ErrUnknown is in the [Problem] of a name that was never declared.
	ErrUnknown = errors.New("unknown")
)

// A Problem is what is wrong with one hyperparameter.
type Problem struct {
	Name string // empty if Err, from a Validate method, names no hyperparameter
	Err  error
}

func (p *Problem) Error() string {
	if p.Name == "" {
		return fmt.Sprintf("hyperparameters: %v", p.Err)
	}
	return fmt.Sprintf("hyperparameter %s: %v", showName(p.Name), p.Err)
}

func (p *Problem) Unwrap() error { return p.Err }

// An Error is everything that is wrong with the hyperparameters of a job.
type Error struct {
	Problems []*Problem
}

// Error returns a line for all missing hyperparameters, in the words of the built-in
// algorithms, and one for each other problem.
func (e *Error) Error() string {
	var lines, missing []string
	for _, p := range e.Problems {
		if errors.Is(p.Err, ErrMissing) {
			missing = append(missing, "'"+p.Name+"'")
		} else {
			lines = append(lines, p.Error())
		}
	}
	if missing != nil {
		line := fmt.Sprintf("No value(s) were specified for %s which are required hyperparameter(s)", strings.Join(missing, ", "))
		lines = append([]string{line}, lines...)
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p
	}
	return errs
}

// ClientError returns true: the one who started the job can put it right.
func (e *Error) ClientError() bool { return true }

// What comes from the map is cut in messages: the platform shows 1024 characters.
const (
	longestValue = 60
	longestCause = 200
)

// show returns text as it stands in a message: a number bare, all else in quotes.
func show(text string) string {
	switch short := clip(text, longestValue); {
	case decimal.MatchString(text):
		return short
	case short != text:
		return fmt.Sprintf("%q (%d bytes)", short, len(text))
	default:
		return strconv.Quote(text)
	}
}

// showName returns a name as it stands in a message: in quotes only if it is odd.
func showName(name string) string {
	escaped := escape(name)
	if escaped != clip(name, longestValue) || strings.Contains(escaped, " ") {
		return `"` + escaped + `"`
	}
	return escaped
}

// escape keeps text short, on one line and printable.
func escape(text string) string {
	quoted := strconv.Quote(clip(text, longestValue))
	return quoted[1 : len(quoted)-1]
}

// clip returns text cut to n bytes, at the border of a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// clipped returns err, which may quote a value, with a message of bounded length.
func clipped(err error) error {
	if err == nil || len(err.Error()) <= longestCause {
		return err
	}
	return clippedError{err}
}

type clippedError struct{ err error }

func (e clippedError) Error() string { return clip(e.err.Error(), longestCause) }
func (e clippedError) Unwrap() error { return e.err }
