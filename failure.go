package algospec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/internal/truncate"
)

// failureLimit is how many characters of the failure file the platform shows (container
// contract, 1.6).
const failureLimit = 1024

// failureText returns what the failure file says of err: whose fault it is, then the error, cut
// to what is shown.
func failureText(err error) string {
	kind := "AlgorithmError"
	if IsClientError(err) {
		kind = "ClientError"
	}
	text := err.Error()
	if trace, ok := errors.AsType[*PanicError](err); ok {
		text += "\n\n" + string(trace.Stack)
	}
	return truncate.Characters(kind+": "+strings.ToValidUTF8(text, "\uFFFD"), failureLimit)
}

// writeFailure writes the failure file. The first failure wins: a file that has text stays.
func writeFailure(path string, err error) error {
	if hasFailure(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("no failure file: %w", err)
	}
	text := failureText(err)
	if err := atomicfile.Write(path, strings.NewReader(text)); err != nil && !overwrite(path, text) {
		return fmt.Errorf("no failure file: %w", err)
	}
	return nil
}

// overwrite writes into a file that captureCrash has made, which has its block where the disk is full now.
func overwrite(path, text string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Truncate(int64(len(text))), file.Close()) == nil
}

// hasFailure reports whether the failure file says more than captureCrash wrote in advance.
func hasFailure(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && len(text) > 0 && string(text) != abruptly
}

// ClientErrorf returns an error, formatted as by fmt.Errorf, for which the user's data or settings
// are at fault: it answers ClientError() with true.
func ClientErrorf(format string, args ...any) error {
	return &userError{fmt.Errorf(format, args...)}
}

type userError struct{ err error }

func (e *userError) Error() string     { return e.err.Error() }
func (e *userError) Unwrap() error     { return e.err }
func (e *userError) ClientError() bool { return true }

// abruptly begins the failure file of a process that could not say why it ended: what the Go runtime
// says comes after it, or nothing when the process was killed.
const abruptly = "AlgorithmError: the process ended abruptly"

// captureCrash makes the Go runtime write to the failure file what it says when it ends the
// process: a panic in a goroutine of the author's own, which nothing can recover, or a fatal
// error such as concurrent map writes. The returned function removes what has been prepared.
func captureCrash(path string) (done func()) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil || hasFailure(path) {
		return func() {}
	}
	remove := func() {
		if !hasFailure(path) {
			os.Remove(path)
		}
	}
	if err := os.WriteFile(path, []byte(abruptly), 0o644); err != nil {
		remove()
		return func() {}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		remove()
		return func() {}
	}
	defer file.Close() // SetCrashOutput has a descriptor of its own
	if err := debug.SetCrashOutput(file, debug.CrashOptions{}); err != nil {
		remove()
		return func() {}
	}
	return func() {
		debug.SetCrashOutput(nil, debug.CrashOptions{})
		remove()
	}
}

// A PanicError is a panic of a train function.
type PanicError struct {
	Value any    // what panic was called with
	Frame string // the author's innermost function in it, with file and line
	Stack []byte // as debug.Stack returns it, from the panic on
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %s, in %s", truncate.Characters(fmt.Sprint(e.Value), failureLimit/2), e.Frame)
}

// Unwrap returns what panic was called with, if that was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ClientError reports false: a panic is the algorithm's fault, whatever its value says.
func (e *PanicError) ClientError() bool { return false }

// newPanicError describes a panic that has just been recovered by the calling deferred function.
func newPanicError(value any) *PanicError {
	stack := debug.Stack()
	// Above the call of panic are debug.Stack, this function and the deferred one.
	if i := strings.Index(string(stack), "\npanic("); i >= 0 {
		stack = stack[i+1:]
	}
	return &PanicError{Value: value, Frame: authorFrame(), Stack: stack}
}

// authorFrame returns the innermost frame of the panicking goroutine that belongs to the main
// module, or else, as the panic may be deep in a library, the innermost one outside the runtime.
func authorFrame() string {
	module := "main"
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Path != "" {
		module = build.Main.Path
	}
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	panicking, innermost := false, "an unknown function"
	for {
		frame, more := frames.Next()
		name := frame.Function
		switch {
		case name == "runtime.gopanic":
			panicking = true
		case !panicking || strings.HasPrefix(name, "runtime."):
		case strings.HasPrefix(name, "main.") || strings.HasPrefix(name, module):
			return describe(frame)
		case innermost == "an unknown function":
			innermost = describe(frame)
		}
		if !more {
			return innermost
		}
	}
}

func describe(frame runtime.Frame) string {
	return fmt.Sprintf("%s (%s:%d)", frame.Function, frame.File, frame.Line)
}
