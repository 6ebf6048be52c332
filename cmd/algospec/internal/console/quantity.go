package console

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

// A Size is a number of bytes, such as 64MiB.
type Size int

// UnmarshalText parses a size.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n == 0 || n > 1<<62 || int(n) < 0 {
		return fmt.Errorf("%q is no size such as 64MiB", text)
	}
	*s = Size(n)
	return nil
}

// String returns the size for people.
func (s Size) String() string { return humanize.IBytes(uint64(s)) }

// Bytes words what was moved, in powers of ten as rates are: 1.0 GB.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// Count words a count, such as 1 object or 1,200 objects.
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(n) + " " + many
}

// Seconds words a time with the digits that matter: 0 s, 0.07 s, 1.1 s, 120 s.
func Seconds(d time.Duration) string {
	digits := 1
	switch {
	case d < 5*time.Millisecond:
		digits = 0
	case d < 100*time.Millisecond:
		digits = 2
	case d >= 100*time.Second:
		digits = 0
	}
	return strconv.FormatFloat(d.Seconds(), 'f', digits, 64) + " s"
}
