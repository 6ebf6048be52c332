package platform

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/algospec/algospec/internal/pipetail"
	"github.com/algospec/algospec/internal/rusage"
)

// runCommand runs the algorithm as a child process, in a process group of its own.
func (h *host) runCommand(ctx context.Context) hostEnd {
	cmd, err := h.command()
	if err != nil {
		return h.unstarted(ctx, err)
	}
	output, err := takeOutput(h.log)
	if err != nil {
		return h.unstarted(ctx, err)
	}
	defer output.end(patience)
	cmd.Stdout, cmd.Stderr = output.childs, output.childs
	var end hostEnd // before anything is cleaned up, which may take its time
	started, ended := make(chan error, 1), make(chan error, 1)
	go onOwnThread(func() { // which is the child's parent, and must live as long: it dies with the platform
		err := h.start(cmd)
		started <- err
		if err == nil {
			err = cmd.Wait()
			end = h.endNow(ctx)
			ended <- err
		}
	})
	err = <-started
	output.childs.Close()
	if err != nil {
		return h.unstarted(ctx, err)
	}
	group := -cmd.Process.Pid
	killed, err := h.awaitEnd(ctx, ended, group)
	syscall.Kill(group, syscall.SIGKILL) // what the process has started goes with it,
	killStrays(h.tree.path())            // and what has left its group
	end.setCommand(cmd.ProcessState, err)
	end.killed = end.killed && !killed
	return end
}

// An output is the pipe by which a child's output comes to the log.
type output struct {
	ours, childs *os.File
	copied       chan struct{}
}

// takeOutput makes a pipe for a child to write to, so that waiting for it is not waiting for all that hold that open.
func takeOutput(log io.Writer) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{r, w, make(chan struct{})}
	go func() {
		defer close(o.copied)
		io.Copy(log, pipetail.NewReader(r))
	}()
	return o, nil
}

// end waits for the last of the output once the child has ended. All that the child has written comes, however
// slow the log is. Processes that nobody found may say more for no longer than patience.
func (o *output) end(patience time.Duration) {
	o.ours.SetReadDeadline(time.Now().Add(patience))
	<-o.copied
	o.ours.Close()
}

// patience is for processes that nobody found.
const patience = 5 * time.Second

func (h *host) command() (*exec.Cmd, error) {
	argv := h.run.job.argv()
	path, err := exec.LookPath(argv[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, argv[1:]...)
	env := h.environment()
	for _, key := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = childAttributes()
	return cmd, nil
}

// awaitEnd waits for the process; when ctx is done it sends SIGTERM and, after the grace, SIGKILL. It
// reports whether it has sent any.
func (h *host) awaitEnd(ctx context.Context, ended <-chan error, group int) (killed bool, err error) {
	select {
	case err := <-ended:
		return false, err
	case <-ctx.Done():
	}
	select {
	case err := <-ended: // meanwhile, and not by a signal from here
		return false, err
	default:
	}
	grace := h.graceAfter(context.Cause(ctx))
	if grace > 0 {
		syscall.Kill(group, syscall.SIGTERM)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-ended:
		return true, err
	case <-timer.C:
	}
	syscall.Kill(group, syscall.SIGKILL)
	return true, <-ended
}

func (end *hostEnd) setCommand(state *os.ProcessState, err error) {
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		end.err = err
	}
	if state == nil {
		return
	}
	end.code = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.code, end.killed = 128+int(status.Signal()), true
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		end.maxRSS = rusage.MaxRSS(usage)
	}
}
