package serve

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/home"
)

// farewell is how long the user's command has to end after an interrupt.
const farewell = 10 * time.Second

// runCommand runs the user's command to its end, and ends as it did.
func (p *Platform) runCommand(ctx context.Context, environment home.Environment, streams console.Streams) error {
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.Err
	cmd.Env = environment.Over(os.Environ())
	cmd.WaitDelay = farewell
	cmd.Cancel = func() error {
		if strings.HasPrefix(context.Cause(ctx).Error(), os.Interrupt.String()) {
			return nil // the terminal has told the command, too
		}
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	status := cmd.ProcessState.ExitCode()
	if wait, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		status = 128 + int(wait.Signal())
	}
	if status == 0 && ctx.Err() != nil {
		status = console.ExitInterrupted
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && ctx.Err() == nil {
		return err
	}
	if status == 0 {
		return nil
	}
	return console.StatusError{Status: status, Err: console.ErrTold}
}
