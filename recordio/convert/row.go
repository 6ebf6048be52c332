package convert

import (
	"fmt"
	"io"
	"math"

	"github.com/algospec/algospec/recordio"
)

// Row is a row, sparse or dense. That of a Reader is valid until its following Next.
type Row = recordio.Row

// A Reader reads rows in order. Next returns io.EOF behind the last one. The row belongs to the
// Reader and is valid until the following call.
type Reader interface {
	Next() (Row, error)
}

// A Writer writes rows. It keeps nothing of a Row once Write has returned. Close writes what is
// buffered and completes the format; it does not close what is underneath.
type Writer interface {
	Write(Row) error
	Close() error
}

// An Error says that the data are at fault, and where, if the place is known.
type Error struct {
	Place string // such as "npy: row 7"; rows count from 0
	Err   error
}

func (e *Error) Error() string {
	if e.Place == "" {
		return e.Err.Error()
	}
	return e.Place + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// ClientError reports that the data are at fault.
func (e *Error) ClientError() bool { return true }

// errorf returns an Error that tells no place.
func errorf(format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...)}
}

// Copy writes the rows that src has left to dst, which it does not close, and returns how many
// there were. An error of dst names the row, counted from 0.
func Copy(dst Writer, src Reader) (rows int64, err error) {
	for ; ; rows++ {
		row, err := src.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if err := dst.Write(row); err != nil {
			return rows, fmt.Errorf("row %d: %w", rows, err)
		}
	}
}

// Count reads src to its end and returns how many rows and columns there are: the first of two
// passes over data whose format does not tell. Where sparse rows do not tell their width, it is as
// far as their keys reach.
func Count(src Reader) (rows int64, columns int, err error) {
	for ; ; rows++ {
		row, err := src.Next()
		if err == io.EOF {
			return rows, columns, nil
		}
		if err != nil {
			return rows, columns, err
		}
		columns = max(columns, row.Columns)
		for _, key := range row.Keys {
			columns = max(columns, int(key)+1)
		}
	}
}

// isFinite reports whether x is neither NaN nor infinite.
func isFinite(x float32) bool {
	const exponent = 0x7f800000
	return math.Float32bits(x)&exponent != exponent
}
