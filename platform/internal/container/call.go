package container

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/algospec/algospec/internal/truncate"
)

// maxAnswer is how much of what a call prints is kept: of its errors the end, where the cause is.
const maxAnswer = 1 << 20

// A callError is a call that failed.
type callError struct {
	command, verb string
	text          string // what it said
	err           error
}

func (e *callError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("%s %s: %v", e.command, e.verb, e.err)
	}
	return fmt.Sprintf("%s %s: %s", e.command, e.verb, e.text)
}

func (e *callError) Unwrap() error { return e.err }

// errNoAnswer means that the command hangs.
var errNoAnswer = errors.New("no answer")

// call runs the command and returns what it prints. It takes no longer than limit and ctx.
func (r *Runtime) call(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	late := fmt.Errorf("%w within %v", errNoAnswer, limit)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	cmd := exec.CommandContext(bounded, r.command[0], r.with(args)...)
	alone(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = time.Second // what the command started may keep its output open
	var out, problems tail
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return strings.TrimSpace(string(out.bytes)), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case bounded.Err() != nil:
		return "", &callError{command: r.String(), verb: args[0], err: late}
	}
	return "", &callError{r.String(), args[0], message(string(problems.bytes)), err}
}

// finish is call for what makes or removes something: it goes on where ctx is done, so that what there
// is afterwards is known.
func (r *Runtime) finish(ctx context.Context, args ...string) (string, error) {
	return r.call(context.WithoutCancel(ctx), r.patience, args...)
}

// with returns the command's arguments, its flags before them.
func (r *Runtime) with(args []string) []string {
	return append(r.command[1:len(r.command):len(r.command)], args...)
}

// alone puts a command in a process group of its own, so that Ctrl-C reaches us and not it.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// message returns what a command says of its failure, on one line and cut: from its last line that
// begins with "Error" or "docker:", where there is one, as podman logs before it.
func message(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "Error") || strings.HasPrefix(lines[i], "docker:") {
			lines = lines[i:]
			break
		}
	}
	const limit = 600
	words := strings.Join(strings.Fields(strings.ToValidUTF8(strings.Join(lines, " "), "�")), " ")
	words = strings.TrimPrefix(words, "Error: ")
	if short := truncate.Characters(words, limit); short != words {
		return short + "…"
	}
	return words
}

// tail keeps the last bytes written.
type tail struct{ bytes []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.bytes = append(t.bytes, b...)
	if len(t.bytes) > 2*maxAnswer {
		t.bytes = append(t.bytes[:0], t.bytes[len(t.bytes)-maxAnswer:]...)
	}
	return len(b), nil
}
