package platform

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/truncate"
)

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

// failure is the end of a job because of a host's.
func (a *attempt) failure(end *hostEnd) error {
	if end.err != nil {
		return a.fail(errorReason(end.err), end.err)
	}
	return a.fail(end.reason(len(a.hosts) > 1), nil)
}

// culprit returns the end that is the job's, nil where no host has failed by itself. A host that was
// killed by somebody else comes first, as the others may have noticed sooner than the platform; then
// the first one in time (container contract, 7.4).
func culprit(ends []hostEnd) *hostEnd {
	var first *hostEnd
	for i := range ends {
		end := &ends[i]
		switch {
		case !end.bad():
		case end.told != nil && !(end.killed && end.told == errPeer):
		case first == nil, end.killed && !first.killed, end.killed == first.killed && end.at.Before(first.at):
			first = end
		}
	}
	return first
}

// retryable reports whether a job that failed so may be tried again (RetryStrategy).
func retryable(err error) bool {
	failed, ok := errors.AsType[*FailedError](err)
	return ok && strings.HasPrefix(failed.Reason, "InternalServerError: ")
}

// errorReason is the FailureReason where the platform could not deliver data, or run a host.
func errorReason(err error) string {
	kind := "InternalServerError: "
	if algospec.IsClientError(err) {
		kind = "ClientError: "
	}
	return reason(kind + err.Error())
}

// reasonLimit is the length of FailureReason (DescribeTrainingJob).
const reasonLimit = 1024

// kinds begin a FailureReason: whose fault it is.
var kinds = []string{"ClientError: ", "AlgorithmError: ", "InternalServerError: "}

// reason composes the FailureReason of a host from its failure file and its exit code (container
// contract, 1.6, and register rows 15 and 16). One of several hosts is named.
func (e *hostEnd) reason(named bool) string {
	kind, text := "", e.failure
	for _, k := range kinds {
		if rest, ok := strings.CutPrefix(text, k); ok {
			kind, text = k, rest
		}
	}
	switch {
	case kind == "" && e.code == 2:
		kind = "ClientError: "
	case kind == "":
		kind = "AlgorithmError: "
	}
	if named {
		kind += e.host + ": "
		if text == "" && e.killed {
			text = fmt.Sprintf("killed by signal %d (%v)", e.code-128, syscall.Signal(e.code-128))
		}
	}
	suffix := fmt.Sprintf(", exit code: %d", e.code)
	return truncate.Characters(kind+text, reasonLimit-len(suffix)) + suffix
}

// reason cuts a FailureReason to its limit.
func reason(text string) string { return truncate.Characters(text, reasonLimit) }

// failureText returns what is shown of the failure file, "" without one. What is no file, or is a link
// out of the tree, is none.
func (t hostTree) failureText() string {
	root, err := os.OpenRoot(t.path())
	if err != nil {
		return ""
	}
	defer root.Close()
	file, err := root.OpenFile("output/failure", os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a FIFO nothing is awaited
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
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
