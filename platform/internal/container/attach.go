package container

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/algospec/algospec/internal/pipetail"
)

// An attachment is the call that starts a container and shows what it writes, until it has ended.
type attachment struct {
	runtime        *Runtime
	cmd            *exec.Cmd
	stdout, stderr *os.File // not read before it is known whether the program runs: until then they are the command's own
	exited         chan struct{}
	err            error // of the command, when it has exited
}

func (r *Runtime) attach(id string) (_ *attachment, err error) {
	a := &attachment{runtime: r, exited: make(chan struct{})}
	a.cmd = exec.Command(r.command[0], r.with([]string{"start", "--attach", id})...)
	alone(a.cmd)
	var stdout, stderr *os.File
	if a.stdout, stdout, err = os.Pipe(); err != nil {
		return nil, err
	}
	defer stdout.Close()
	if a.stderr, stderr, err = os.Pipe(); err != nil {
		a.stdout.Close()
		return nil, err
	}
	defer stderr.Close()
	a.cmd.Stdout, a.cmd.Stderr = stdout, stderr
	if err := a.cmd.Start(); err != nil {
		a.close()
		return nil, err
	}
	go func() {
		a.err = a.cmd.Wait()
		close(a.exited)
	}()
	return a, nil
}

// leftover is how long output may still come once the command has exited, from what it has started.
const leftover = 2 * time.Second

// copy passes the output on, and returns when the command has exited and no more comes. All that was written before
// comes, however slow the log is.
func (a *attachment) copy(to io.Writer) {
	if to == nil {
		to = io.Discard
	}
	var mu sync.Mutex
	var copies sync.WaitGroup
	copies.Go(func() { copyLines(to, pipetail.NewReader(a.stdout), &mu) })
	copies.Go(func() { copyLines(to, pipetail.NewReader(a.stderr), &mu) })
	<-a.exited
	deadline := time.Now().Add(leftover)
	a.stdout.SetReadDeadline(deadline)
	a.stderr.SetReadDeadline(deadline)
	copies.Wait()
	a.close()
}

// failure returns why a command that has exited did not start the program.
func (a *attachment) failure() error {
	a.stderr.SetReadDeadline(time.Now().Add(leftover))
	text, _ := io.ReadAll(io.LimitReader(pipetail.NewReader(a.stderr), maxAnswer))
	err := a.err
	if err == nil {
		err = errors.New("it did not start")
	}
	return &callError{a.runtime.String(), "start", message(string(text)), err}
}

// abandon ends the command and drops its output.
func (a *attachment) abandon() {
	killGroup(a.cmd)
	<-a.exited
	a.close()
}

func (a *attachment) close() {
	a.stdout.Close()
	a.stderr.Close()
}

// reason returns how the command exited.
func (a *attachment) reason() error {
	if a.err == nil {
		return errors.New("exit status 0")
	}
	return a.err
}
