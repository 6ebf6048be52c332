package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/truncate"
)

// ErrStopped says that the job was stopped before its end.
var ErrStopped = errors.New("the training job was stopped")

func stopped(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
}

// A FailedError says why a job failed.
type FailedError struct {
	Job    string
	Reason string // FailureReason: at most 1024 characters, whose fault it is first
	Err    error  // what kept the platform from delivering data or storing results, if that was it
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("training job %s failed: %s", e.Job, e.Reason)
}

func (e *FailedError) Unwrap() error { return e.Err }

// failure returns why the job failed, or nil.
func (r *run) failure(ctx context.Context, end hostEnd, dataErr error) error {
	switch {
	case dataErr != nil:
		return &FailedError{Job: r.job.Name, Reason: dataReason(dataErr), Err: dataErr}
	case end.err != nil:
		return &FailedError{Job: r.job.Name, Reason: reason("InternalServerError: " + end.err.Error()), Err: end.err}
	case end.code != 0 && ctx.Err() == nil:
		return &FailedError{Job: r.job.Name, Reason: containerReason(cmp.Or(r.tree.failureText(), end.failure), end.code)}
	}
	return nil
}

// dataReason is the FailureReason where data could not be delivered.
func dataReason(err error) string {
	kind := "InternalServerError: "
	if algospec.IsClientError(err) {
		kind = "ClientError: "
	}
	return reason(kind + err.Error())
}

// reasonLimit is the length of FailureReason (DescribeTrainingJob).
const reasonLimit = 1024

// containerReason composes the FailureReason of a container from its failure file and its exit
// code (container contract, 1.6, and register row 15 and 16).
func containerReason(text string, code int) string {
	suffix := fmt.Sprintf(", exit code: %d", code)
	if !strings.HasPrefix(text, "ClientError: ") && !strings.HasPrefix(text, "AlgorithmError: ") && !strings.HasPrefix(text, "InternalServerError: ") {
		kind := "AlgorithmError: "
		if code == 2 {
			kind = "ClientError: "
		}
		text = kind + text
	}
	return truncate.Characters(text, reasonLimit-len(suffix)) + suffix
}

// reason cuts a FailureReason to its limit.
func reason(text string) string { return truncate.Characters(text, reasonLimit) }

// failureText returns what is shown of the failure file, "" without one.
func (t *tree) failureText() string {
	file, err := os.Open(t.path("output", "failure"))
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 4*reasonLimit))
	if err != nil {
		return ""
	}
	return truncate.Characters(strings.ToValidUTF8(string(text), ""), reasonLimit)
}

// A failure keeps the first of several errors.
type failure struct {
	mu  sync.Mutex
	err error
}

// set reports whether err is the first there is.
func (f *failure) set(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil || f.err != nil {
		return false
	}
	f.err = err
	return true
}

func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
