package platform

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/platform/checkpoints"
	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/filemode"
)

// provide makes the channels appear on all hosts: directories whole, pipes as far as they are made
// before the algorithm starts.
func (a *attempt) provide(ctx context.Context) error {
	if err := a.download(ctx); err != nil {
		return err
	}
	for _, h := range a.hosts {
		for _, in := range h.inputs() {
			if err := h.provide(ctx, in); err != nil {
				return fmt.Errorf("channel %s: %w", in.Name, err)
			}
		}
	}
	if err := a.restore(ctx); err != nil {
		return err
	}
	for _, p := range a.pipes() {
		if err := p.make(); err != nil {
			return err
		}
	}
	return nil
}

// restore copies the checkpoints in S3 to all hosts.
func (a *attempt) restore(ctx context.Context) error {
	if a.job.Checkpoints.S3URI == "" {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, h := range a.hosts {
		group.Go(func() (err error) {
			h.mirror, err = checkpoints.Restore(ctx, a.job.S3, a.job.Checkpoints.S3URI, h.checkpoints(), checkpoints.Options{
				Interval: a.job.Checkpoints.Interval, Logger: a.job.logger(), Within: h.confines(),
				Download: filemode.Options{Stream: a.job.stream()},
			})
			if err != nil {
				return fmt.Errorf("checkpoints: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// inputs returns the channels that the host gets.
func (h *host) inputs() []*input {
	var inputs []*input
	for i := range h.run.inputs {
		if in := &h.run.inputs[i]; in.goesTo(h.group) {
			inputs = append(inputs, in)
		}
	}
	return inputs
}

// provide makes a channel appear that is a directory and not downloaded.
func (h *host) provide(ctx context.Context, in *input) error {
	switch {
	case in.Directory != "" && h.run.job.Image != "":
		return os.MkdirAll(h.tree.channel(in.Name), 0o755) // to be mounted on
	case in.Directory != "":
		return h.link(in)
	case in.InputMode == fastFileMode:
		return h.mount(ctx, in)
	}
	return nil
}

// addPipes adds the hosts' pipes, which are not there to see yet.
func (a *attempt) addPipes() {
	count := 0 // over all hosts, which share the memory for reading ahead
	for _, h := range a.hosts {
		for _, in := range h.inputs() {
			if in.InputMode == pipeMode {
				count++
			}
		}
	}
	for _, h := range a.hosts {
		for _, in := range h.inputs() {
			if in.InputMode == pipeMode {
				h.pipes = append(h.pipes, h.newPipe(in, count))
			}
		}
	}
}

func (h *host) newPipe(in *input, share int) *pipe {
	job, shard := &h.run.job, in.shard(h.run.members, h.member)
	p := &pipe{
		path: h.tree.channel(in.Name), workshop: h.run.tree.workshop(h.name), watcher: h.run.watcher,
		host: h.name, name: in.Name, size: in.size(shard),
		source: in.stream(job, share, shard), began: h.run.began,
		lookAhead: job.LookAhead.fork(), stall: job.stall(), logger: job.logger(),
	}
	p.reading.Store(-1)
	return p
}

// A view is a channel's directory that must be taken away before the tree is.
type view struct {
	close func() error
	err   func() error // what kept its files from being read, nil if nothing did
}

// link makes a directory of this machine appear.
func (h *host) link(in *input) error {
	mount, err := filemode.Link(h.tree.channel(in.Name), in.Directory, in.FileSystemAccessMode == readOnly)
	if err != nil {
		return err
	}
	h.views = append(h.views, &view{mount.Close, func() error { return nil }})
	return nil
}

// mount makes a directory appear whose files are fetched as they are read.
func (h *host) mount(ctx context.Context, in *input) error {
	dir := h.tree.channel(in.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The view outlives ctx: an algorithm that is told to stop may read on until it ends.
	files := in.filesOf(in.shard(h.run.members, h.member))
	fs, err := fastfile.Mount(context.WithoutCancel(ctx), dir, h.run.job.S3, files, fastfile.Options{Stream: h.run.job.stream()})
	if err != nil {
		return err
	}
	h.views = append(h.views, &view{fs.Close, func() error {
		if err := fs.Err(); err != nil {
			return fmt.Errorf("channel %s: %w", in.Name, err)
		}
		return nil
	}})
	return nil
}

// withdraw takes the views away, which comes before the tree is removed.
func (h *host) withdraw() {
	for _, v := range h.views {
		if err := v.close(); err != nil {
			h.run.job.logger().Warn("a channel's directory could not be taken away", "host", h.name, "error", err)
		}
	}
}
