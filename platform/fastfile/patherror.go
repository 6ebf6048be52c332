package fastfile

import (
	"errors"
	"fmt"

	"github.com/algospec/algospec/platform/s3stream"
)

// A PathError says which object cannot be a file, and why.
type PathError struct {
	Path   string
	Object s3stream.Object
	Err    error
}

var (
	errEmpty     = errors.New("an element of the path is empty")
	errDots      = errors.New("an element of the path is a dot or two")
	errNUL       = errors.New("the path holds a NUL byte")
	errTooLong   = errors.New("an element of the path is longer than 255 bytes")
	errDuplicate = errors.New("two objects have this path")
	errBoth      = errors.New("the path is both a file and a directory")
	errNoSize    = errors.New("the size of the object is not known")
)

func (e *PathError) Error() string {
	return fmt.Sprintf("s3://%s/%s as the file %q: %v", e.Object.Bucket, e.Object.Key, e.Path, e.Err)
}

func (e *PathError) Unwrap() error { return e.Err }

// ClientError reports that the data is at fault.
func (e *PathError) ClientError() bool { return true }
