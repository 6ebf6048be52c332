package container

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A StartError says that an image's program cannot be started: it is not there, or no program.
type StartError struct {
	Image string
	Err   error
}

func (e *StartError) Error() string { return fmt.Sprintf("image %s: %v", e.Image, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// ClientError reports that the image, or the entry point asked for, is at fault.
func (e *StartError) ClientError() bool { return true }

// Start starts a container and returns when its program runs, or has ended already. An image that is
// not on this machine is pulled first; one that cannot be, and one whose program cannot be started,
// answer ClientError() true. ctx is for the start only. When it fails, nothing remains.
func (r *Runtime) Start(ctx context.Context, spec Spec) (*Container, error) {
	c, err := r.start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("container %s: %w", spec.Name, err)
	}
	return c, nil
}

func (r *Runtime) start(ctx context.Context, spec Spec) (*Container, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	flags, err := spec.flags()
	if err != nil {
		return nil, err
	}
	if err := r.fetch(ctx, spec.Image); err != nil {
		return nil, err
	}
	id, err := r.create(ctx, spec, flags)
	if err != nil {
		return nil, err
	}
	return r.run(ctx, id, spec)
}

// create makes a container that does not run yet.
func (r *Runtime) create(ctx context.Context, spec Spec, flags []string) (id string, err error) {
	mark, labels := marked(spec.Labels)
	args := append([]string{"create"}, flags...)
	args = append(args, labels...)
	if r.podman {
		args = append(args, "--http-proxy=false") // which would be ours
	}
	args = append(args, r.flags...)
	args = append(append(args, spec.Image), spec.arguments()...)
	out, err := r.finish(ctx, args...)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", r.undo(ctx, mark, err)
	}
	words := strings.Fields(out)
	if len(words) == 0 {
		return "", r.undo(ctx, mark, fmt.Errorf("%s create: no id", r))
	}
	return words[len(words)-1], nil
}

// run starts a container and removes it if that fails.
func (r *Runtime) run(ctx context.Context, id string, spec Spec) (*Container, error) {
	c := &Container{
		runtime: r, name: spec.Name, id: id, limited: spec.Memory > 0,
		killed: make(chan struct{}), ended: make(chan struct{}),
	}
	if err := c.run(ctx); err != nil {
		if removal := r.remove(ctx, "id="+id, id); removal != nil {
			err = fmt.Errorf("%w; it may be left behind: %w", err, removal)
		}
		return nil, classify(spec.Image, err)
	}
	go c.watch(spec.Stdout)
	return c, nil
}

// run starts the program. Podman does all but that in a step of its own, so that what it says of it
// does not get into the program's log.
func (c *Container) run(ctx context.Context) (err error) {
	if c.runtime.podman {
		if _, err := c.runtime.finish(ctx, "init", c.id); err != nil {
			return err
		}
	}
	if c.attached, err = c.runtime.attach(c.id); err != nil {
		return err
	}
	state, err := c.awaitStart(ctx)
	if err != nil {
		c.attached.abandon()
		return err
	}
	c.process = findProcess(state.pid, c.id)
	return nil
}

// awaitStart waits until the program runs or has run.
func (c *Container) awaitStart(ctx context.Context) (state, error) {
	limit := time.NewTimer(c.runtime.patience)
	defer limit.Stop()
	exited := c.attached.exited
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		over := closed(exited)
		s, err := c.inspect(ctx)
		switch {
		case err != nil:
			return s, err
		case s.started:
			return s, nil
		case over:
			return s, c.attached.failure()
		}
		again := time.NewTimer(pause)
		select {
		case <-exited:
		case <-again.C:
		case <-limit.C:
			err = &callError{command: c.runtime.String(), verb: "start", err: fmt.Errorf("%w within %v", errNoAnswer, c.runtime.patience)}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		again.Stop()
		if err != nil {
			return s, err
		}
	}
}

// noProgram is what runc and crun say, and after them podman and docker, where the program is at
// fault and not the machine.
var noProgram = regexp.MustCompile(`exec: "|executable file|exec format error|command that was not found`)

func classify(image string, err error) error {
	var call *callError
	if errors.As(err, &call) && noProgram.MatchString(call.text) {
		return &StartError{image, err}
	}
	return err
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
