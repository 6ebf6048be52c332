package recordio

import (
	"errors"
	"fmt"
	"io"
)

const (
	magic      = 0xced7230a // first word of a frame, little endian
	headerSize = 8          // magic, then flag (3 bits) and length (29 bits)
)

// MaxPart is the length in bytes of the longest part of a record: all that a frame can say.
const MaxPart = 1<<29 - 1

// The flag of a frame says which part of a record it holds.
const (
	wholeRecord = iota
	firstPart
	middlePart
	lastPart
)

// padded returns n rounded up to the frames' alignment of four bytes.
func padded(n int) int { return (n + 3) &^ 3 }

// Multipart is one of the two ways in which a record can be split into several frames. Frames do
// not tell which way was used.
type Multipart int

const (
	// Plain records are cut anywhere and joined with nothing between the parts: what SageMaker's
	// readers and its RecordIO wrapping of large objects do.
	Plain Multipart = iota
	// DMLC records are cut at each magic number that stands in them at a multiple of four bytes,
	// which is left out and put back between the parts: what MXNet's im2rec does.
	DMLC
)

// Errors of the framing, as the Err of a *FormatError. A stream that ends inside a record is
// io.ErrUnexpectedEOF.
var (
	ErrMagic    = errors.New("bad magic number")
	ErrSplit    = errors.New("bad split")
	ErrTooLarge = errors.New("record too large")
)

// A FormatError says where in the stream the data are wrong.
type FormatError struct {
	Record int64 // number of the record in the stream, from 0
	Offset int64 // byte of the stream at which the record, or the bad part of it, begins
	Err    error // ErrMagic, ErrSplit, ErrTooLarge, io.ErrUnexpectedEOF, or what a RowDecoder says
}

func (e *FormatError) Error() string {
	cause := e.Err
	if cause == io.ErrUnexpectedEOF {
		cause = errTruncated
	}
	return fmt.Sprintf("recordio: record %d at byte %d: %v", e.Record, e.Offset, cause)
}

// errTruncated words io.ErrUnexpectedEOF for people.
var errTruncated = errors.New("the stream ends inside the record")

func (e *FormatError) Unwrap() error { return e.Err }

// ByteOffset returns Offset; a channel whose data are files says with it in which one.
func (e *FormatError) ByteOffset() int64 { return e.Offset }

// ClientError reports that the data are at fault.
func (e *FormatError) ClientError() bool { return true }
