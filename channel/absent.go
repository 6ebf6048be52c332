package channel

import (
	"context"
	"io"
	"strings"
)

// Absent is the Source of a channel that the job lacks: opening it fails with an *AbsentError
// that lists the channels there are.
type Absent []string

// Open returns an *AbsentError.
func (a Absent) Open(context.Context, int) (io.ReadCloser, error) {
	return nil, &AbsentError{Have: a}
}

// An AbsentError says that a job lacks a channel which its algorithm needs.
type AbsentError struct {
	Have []string // the job's channels
}

func (e *AbsentError) Error() string {
	if len(e.Have) == 0 {
		return "the algorithm needs it, and the job has no channel"
	}
	return "the algorithm needs it, and the job has only " + strings.Join(e.Have, ", ")
}

// ClientError reports that the job's request is at fault.
func (e *AbsentError) ClientError() bool { return true }
