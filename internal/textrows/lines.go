package textrows

import (
	"bytes"
	"fmt"
	"io"
)

const (
	// DefaultMaxLine is the longest line that is accepted where no other maximum is set, in bytes.
	DefaultMaxLine = 16 << 20

	bufferSize = 256 << 10 // how much is asked for at a time: the size that pipes deliver fastest
)

// lines reads lines from src.
type lines struct {
	src     io.Reader
	buf     []byte // buf[start:end] has been read and not been returned
	start   int
	scanned int // buf[start:scanned] holds no newline
	end     int
	srcErr  error // what src said last; it holds once the buffered lines are returned
	number  int64 // of the line returned last, from 1
	begin   int64 // of that line in the text
	offset  int64 // of buf[start] in the text
}

// next returns the next line that is not empty, without its end, valid until the following call.
// A line longer than most bytes, 0 means DefaultMaxLine, is an error.
func (l *lines) next(most int) ([]byte, error) {
	if most == 0 {
		most = DefaultMaxLine
	}
	for {
		line, err := l.any(most)
		if err != nil || len(line) > 0 {
			return line, err
		}
	}
}

// any returns the next line, empty or not.
func (l *lines) any(most int) ([]byte, error) {
	for {
		i := bytes.IndexByte(l.buf[l.scanned:l.end], '\n')
		if i >= 0 {
			return l.take(l.scanned+i, 1, most)
		}
		l.scanned = l.end
		if l.end-l.start > most+len("\r") {
			return nil, l.tooLong(most)
		}
		if l.srcErr == io.EOF && l.end > l.start {
			return l.take(l.end, 0, most)
		}
		if l.srcErr != nil {
			return nil, l.srcErr
		}
		l.fill()
	}
}

// take consumes the line that ends before buf[end], and the terminator of so many bytes.
func (l *lines) take(end, terminator, most int) ([]byte, error) {
	line := l.buf[l.start:end]
	if l.number == 0 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > most {
		return nil, l.tooLong(most)
	}
	l.number++
	l.begin = l.offset
	l.offset += int64(end + terminator - l.start)
	l.start = end + terminator
	l.scanned = l.start
	return line, nil
}

func (l *lines) tooLong(most int) error {
	return &Error{Line: l.number + 1, Offset: l.offset, Err: fmt.Errorf("longer than %d bytes", most)}
}

// fill reads once, into a buffer that doubles only when it is full of what has arrived.
func (l *lines) fill() {
	switch {
	case l.buf == nil:
		l.buf = make([]byte, bufferSize)
	case l.start > 0:
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.scanned -= l.start
		l.start = 0
	case l.end == len(l.buf):
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for range 100 {
		n, err := l.src.Read(l.buf[l.end:])
		l.end += n
		l.srcErr = err
		if n > 0 || err != nil {
			return
		}
	}
	l.srcErr = io.ErrNoProgress
}

// fail returns err, placed in the line returned last.
func (l *lines) fail(column int, err error) error {
	return &Error{Line: l.number, Offset: l.begin, Column: column, Err: err}
}
