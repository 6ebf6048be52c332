package container

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Sweep removes the containers, running or not, and then the networks that have a label, given as
// "key" or "key=value": what a platform that was killed left behind. It goes on where ctx is done.
func (r *Runtime) Sweep(ctx context.Context, label string) error {
	if err := r.sweep(ctx, label); err != nil {
		return fmt.Errorf("containers with label %s: %w", label, err)
	}
	return nil
}

func (r *Runtime) sweep(ctx context.Context, label string) error {
	containers, err := r.containers(ctx, "label="+label)
	if err == nil && len(containers) > 0 {
		err = r.remove(ctx, "label="+label, containers...)
	}
	networks, listErr := r.networks(ctx, "label="+label)
	if listErr == nil && len(networks) > 0 {
		listErr = r.removeNetworks(ctx, "label="+label, networks...)
	}
	return errors.Join(err, listErr)
}

// markLabel marks each container and network, so that one is found whose making was cut short.
const markLabel = "algospec.mark"

// marked returns a new mark and the flags for it and the labels.
func marked(labels map[string]string) (mark string, flags []string) {
	mark = markLabel + "=" + rand.Text()
	return mark, append(pairs("--label", labels), "--label", mark)
}

// undo removes what has the mark, and returns the error that led here with what goes wrong.
func (r *Runtime) undo(ctx context.Context, mark string, err error) error {
	if swept := r.sweep(ctx, mark); swept != nil {
		return fmt.Errorf("%w; it may be left behind: %w", err, swept)
	}
	return err
}

func (r *Runtime) containers(ctx context.Context, filter string) ([]string, error) {
	out, err := r.finish(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", filter)
	return strings.Fields(out), err
}

func (r *Runtime) networks(ctx context.Context, filter string) ([]string, error) {
	out, err := r.finish(ctx, "network", "ls", "--format", "{{.Name}}", "--filter", filter)
	return strings.Fields(out), err
}

// remove kills and removes containers, with their anonymous volumes. It fails if of those that the
// filter finds one is left: another may have been faster.
func (r *Runtime) remove(ctx context.Context, filter string, ids ...string) error {
	args := []string{"rm", "--force", "--volumes"}
	if r.podman {
		args = append(args, "--time", "0") // it would ask first, with SIGTERM
	}
	for try := 1; ; try++ {
		_, err := r.finish(ctx, append(args, ids...)...)
		if err == nil || errors.Is(err, errNoAnswer) {
			return err
		}
		// Podman behind docker's command fails on a container that is ending by itself.
		if err = unlessGone(ctx, err, filter, ids, r.containers); err == nil || try == removals {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// removals is how often a container is tried to be removed.
const removals = 4

// removeNetworks does the same for networks.
func (r *Runtime) removeNetworks(ctx context.Context, filter string, names ...string) error {
	_, err := r.finish(ctx, append([]string{"network", "rm"}, names...)...)
	if err == nil || errors.Is(err, errNoAnswer) {
		return err
	}
	return unlessGone(ctx, err, filter, names, r.networks)
}

func unlessGone(ctx context.Context, err error, filter string, names []string, ls func(context.Context, string) ([]string, error)) error {
	left, listErr := ls(ctx, filter)
	left = slices.DeleteFunc(left, func(name string) bool { return !slices.Contains(names, name) })
	if listErr == nil && len(left) == 0 {
		return nil
	}
	return err
}
