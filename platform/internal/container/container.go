package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A Container is a container that was started. Its methods may be called from several goroutines.
type Container struct {
	runtime  *Runtime
	name, id string
	limited  bool // in its memory
	attached *attachment
	process  *os.Process // the program, where it is seen from here; nil elsewhere

	kill   sync.Once
	killed chan struct{} // closed when it is being killed

	ended chan struct{} // closed when end and err are known
	end   End
	err   error
}

// An End is how a container's program ended.
type End struct {
	ExitCode  int  // 128+n where signal n ended it
	OOMKilled bool // a process of it was killed for its memory limit, or seems to have been: the engines miss it on some kernels
}

// Wait waits for the program to end, and for the last of its output to be written. Where the command
// line was killed or lost sight of the container, that is an error, and the program is killed. ctx
// ends the waiting only.
func (c *Container) Wait(ctx context.Context) (End, error) {
	select {
	case <-c.ended:
		return c.end, c.err
	case <-ctx.Done():
		return End{}, context.Cause(ctx)
	}
}

// Signal sends a signal to the program. One that has ended gets none, which is no error. After
// SIGKILL, Wait returns even if the command line hangs.
func (c *Container) Signal(ctx context.Context, signal syscall.Signal) error {
	if signal == syscall.SIGKILL {
		c.kill.Do(func() { close(c.killed) })
	}
	if c.process != nil {
		err := c.process.Signal(signal)
		if err == nil || errors.Is(err, os.ErrProcessDone) {
			return nil
		}
	}
	_, err := c.runtime.finish(ctx, "kill", "--signal", strconv.Itoa(int(signal)), c.id)
	if err == nil || closed(c.ended) {
		return nil
	}
	if s, inspectErr := c.inspect(context.WithoutCancel(ctx)); inspectErr == nil && s.ended() {
		return nil
	}
	return fmt.Errorf("container %s: %v: %w", c.name, signal, err)
}

// Remove kills the program if it runs, and removes the container with its anonymous volumes. It does
// so even where ctx is done.
func (c *Container) Remove(ctx context.Context) error {
	c.kill.Do(func() { close(c.killed) })
	if c.process != nil {
		c.process.Kill()
	}
	err := c.runtime.remove(ctx, "id="+c.id, c.id)
	<-c.ended
	if err != nil {
		return fmt.Errorf("container %s: %w", c.name, err)
	}
	return nil
}

// watch follows the container to its end.
func (c *Container) watch(stdout io.Writer) {
	defer close(c.ended)
	copied := make(chan struct{})
	go func() {
		c.attached.copy(stdout)
		close(copied)
	}()
	select {
	case <-c.attached.exited:
	case <-c.killed:
		c.awaitExit()
	}
	<-copied
	c.end, c.err = c.outcome()
	if c.err != nil {
		c.err = fmt.Errorf("container %s: %w", c.name, c.err)
	}
	if c.process != nil {
		c.process.Kill()
		c.process.Release()
	}
}

// awaitExit waits for the attached command, of a container that is being killed, and ends it where it
// hangs.
func (c *Container) awaitExit() {
	patience := time.NewTimer(c.runtime.patience)
	defer patience.Stop()
	select {
	case <-c.attached.exited:
	case <-patience.C:
		killGroup(c.attached.cmd)
		<-c.attached.exited
	}
}

// outcome asks for the exit code of a container whose attached command has exited.
func (c *Container) outcome() (End, error) {
	s, err := c.inspect(context.Background())
	if err != nil {
		return End{}, err
	}
	if !s.ended() {
		return End{}, fmt.Errorf("%s start: it ended before the container, which is %s: %w", c.runtime, s.status, c.attached.reason())
	}
	return End{s.exitCode, s.oomKilled || c.seemsOOMKilled(s)}, nil
}

// seemsOOMKilled says whether SIGKILL ended a program with a memory limit, and was not ours.
func (c *Container) seemsOOMKilled(s state) bool {
	return c.limited && s.exitCode == 128+int(syscall.SIGKILL) && !closed(c.killed)
}

// state is what the runtime knows of a container.
type state struct {
	status    string
	started   bool // once
	pid       int
	exitCode  int
	oomKilled bool
}

// ended are what podman and docker call a container whose exit code they know.
func (s *state) ended() bool { return slices.Contains([]string{"exited", "stopped", "dead"}, s.status) }

func (c *Container) inspect(ctx context.Context) (state, error) {
	out, err := c.runtime.call(ctx, c.runtime.patience, "container", "inspect", "--format", "{{json .State}}", c.id)
	if err != nil {
		return state{}, err
	}
	var said struct {
		Status    string
		StartedAt time.Time
		Pid       int
		ExitCode  int
		OOMKilled bool
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		return state{}, fmt.Errorf("%s container inspect: %w", c.runtime, err)
	}
	// The zero time is year 1 to both, and, of some versions, in the zone of the machine.
	return state{said.Status, said.StartedAt.Year() > 1, said.Pid, said.ExitCode, said.OOMKilled}, nil
}
