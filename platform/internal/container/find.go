package container

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The variables of the environment that say how containers are run on this machine.
const (
	RuntimeVariable = "ALGOSPEC_CONTAINER_RUNTIME"
	FlagsVariable   = "ALGOSPEC_CONTAINER_FLAGS"
)

// A Runtime is podman or docker. Its methods may be called from several goroutines.
type Runtime struct {
	command  []string // the program and its flags before the verb
	flags    []string // of create
	podman   bool
	patience time.Duration // with one call of the command that has nothing to fetch
}

// Find returns podman, or else docker, or what ALGOSPEC_CONTAINER_RUNTIME names, if it works. The
// environment is read through getenv.
func Find(ctx context.Context, getenv func(string) string) (*Runtime, error) {
	flags := strings.Fields(getenv(FlagsVariable))
	if named := strings.Fields(getenv(RuntimeVariable)); len(named) > 0 {
		r, err := probe(ctx, named, flags)
		if err != nil {
			return nil, fmt.Errorf("container runtime that %s names: %w", RuntimeVariable, err)
		}
		return r, nil
	}
	var problems []error
	for _, name := range []string{"podman", "docker"} {
		r, err := probe(ctx, []string{name}, flags)
		if err == nil {
			return r, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("no container runtime: %w (install podman with netavark and aardvark-dns, or docker, or name one in %s)",
		list(problems), RuntimeVariable)
}

// probe asks the command who it is, and for its containers, which takes an engine that works.
func probe(ctx context.Context, command, flags []string) (*Runtime, error) {
	r := &Runtime{command: command, flags: flags, patience: 30 * time.Second}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, fmt.Errorf("%s: not installed", command[0])
	}
	version, err := r.call(ctx, r.patience, "--version")
	if err != nil {
		return nil, err
	}
	r.podman = strings.HasPrefix(strings.ToLower(version), "podman") // the package podman-docker calls it docker
	_, err = r.call(ctx, r.patience, "ps", "--quiet")
	return r, err
}

// String returns the name of the command.
func (r *Runtime) String() string { return filepath.Base(r.command[0]) }

// list joins errors on one line.
func list(problems []error) error {
	var texts []string
	for _, err := range problems {
		texts = append(texts, err.Error())
	}
	return errors.New(strings.Join(texts, "; "))
}
