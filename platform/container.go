package platform

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/algospec/algospec/platform/internal/container"
)

// treeLabel is a label of containers and networks: the Dir of their job, by which Sweep finds them.
const treeLabel = "algospec.dir"

// containers is what an attempt has of the container runtime. The zero value is that of hosts that
// are no containers.
type containers struct {
	runtime *container.Runtime
	network *container.Network
}

// join makes the network of the attempt's containers.
func (a *attempt) join(ctx context.Context) (err error) {
	if a.job.Image == "" {
		return nil
	}
	if a.runtime, err = container.Find(ctx, os.Getenv); err != nil {
		return err
	}
	if err := os.WriteFile(a.tree.containers(), nil, 0o644); err != nil {
		return err
	}
	a.network, err = a.runtime.Network(ctx, container.NetworkSpec{
		Name: a.networkName(), Labels: a.labels(), Isolated: a.job.NetworkIsolation,
	})
	return err
}

// part removes the network.
func (a *attempt) part() {
	if a.network == nil {
		return
	}
	if err := a.network.Remove(context.Background()); err != nil {
		a.job.logger().Warn("a network could not be removed", "error", err)
	}
}

func (a *attempt) networkName() string { return filepath.Base(a.tree.root) }

func (a *attempt) labels() map[string]string {
	return map[string]string{treeLabel: filepath.Dir(a.tree.root)}
}

// runContainer runs the algorithm as a container.
func (h *host) runContainer(ctx context.Context) hostEnd {
	c, err := h.run.runtime.Start(ctx, h.containerSpec())
	if err != nil {
		if ctx.Err() != nil {
			return h.endNow(ctx)
		}
		return h.unstarted(ctx, err)
	}
	defer func() {
		if err := c.Remove(context.Background()); err != nil {
			h.run.job.logger().Warn("a container could not be removed", "host", h.name, "error", err)
		}
	}()
	ended := make(chan hostEnd, 1)
	go func() {
		end, err := c.Wait(context.Background())
		result := h.endNow(ctx)
		result.code, result.killed, result.err = end.ExitCode, end.ExitCode > 128, err
		if end.OOMKilled {
			result.failure = "out of memory"
		}
		ended <- result
	}()
	select {
	case end := <-ended:
		return end
	case <-ctx.Done():
	}
	end := h.endContainer(c, h.graceAfter(context.Cause(ctx)), ended)
	end.killed = false
	return end
}

// endContainer sends SIGTERM and, after the grace, SIGKILL.
func (h *host) endContainer(c *container.Container, grace time.Duration, ended <-chan hostEnd) hostEnd {
	signal := func(s syscall.Signal) {
		if err := c.Signal(context.Background(), s); err != nil {
			h.run.job.logger().Warn("a container could not be told to end", "host", h.name, "error", err)
		}
	}
	if grace > 0 {
		signal(syscall.SIGTERM)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case end := <-ended:
		return end
	case <-timer.C:
	}
	signal(syscall.SIGKILL)
	return <-ended
}

func (h *host) containerSpec() container.Spec {
	job := &h.run.job
	spec := container.Spec{
		Name: h.run.networkName() + "-" + h.name, Image: job.Image, Entrypoint: job.Entrypoint, Arguments: job.Arguments,
		Env: h.environment(), Network: h.run.networkName(), Alias: h.name, Labels: h.run.labels(), Stdout: h.log,
		Mounts: []container.Mount{{Source: h.tree.path(), Target: base}},
	}
	for _, in := range h.inputs() {
		if in.Directory != "" { // a link would lead out of the container
			spec.Mounts = append(spec.Mounts, container.Mount{
				Source: in.Directory, Target: h.seen(h.tree.channel(in.Name)), ReadOnly: in.FileSystemAccessMode == readOnly,
			})
		}
	}
	if job.Checkpoints.S3URI != "" {
		if path := h.seenCheckpoints(); path != h.seen(h.checkpoints()) {
			spec.Mounts = append(spec.Mounts, container.Mount{Source: h.checkpoints(), Target: path})
		}
	}
	return spec
}

// confines is what links that the algorithm makes are not followed out of: as root of its container it
// may see less than the platform. "" where it is a process.
func (h *host) confines() string {
	if h.run.job.Image == "" {
		return ""
	}
	return h.tree.path()
}

// seenCheckpoints is the checkpoint directory as the algorithm sees it.
func (h *host) seenCheckpoints() string {
	if h.run.job.Image == "" {
		return h.checkpoints()
	}
	return filepath.Clean(cmp.Or(h.run.job.Checkpoints.LocalPath, base+"/checkpoints"))
}

// sweepContainers removes the containers and networks of the jobs in dir.
func sweepContainers(dir string) error {
	ctx := context.Background()
	runtime, err := container.Find(ctx, os.Getenv)
	if err != nil {
		return err
	}
	return runtime.Sweep(ctx, treeLabel+"="+dir)
}
