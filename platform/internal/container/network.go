package container

import (
	"context"
	"fmt"
)

// A NetworkSpec describes the network of a job.
type NetworkSpec struct {
	Name     string
	Labels   map[string]string // by which Sweep finds it
	Isolated bool              // no way out of it (EnableNetworkIsolation)
}

// A Network joins the containers of a job.
type Network struct {
	runtime *Runtime
	name    string
}

// Network makes a network. Names are resolved in it, if only of containers that run.
func (r *Runtime) Network(ctx context.Context, spec NetworkSpec) (*Network, error) {
	n, err := r.network(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", spec.Name, err)
	}
	return n, nil
}

func (r *Runtime) network(ctx context.Context, spec NetworkSpec) (*Network, error) {
	if err := validName(spec.Name); err != nil {
		return nil, err
	}
	mark, labels := marked(spec.Labels)
	args := append([]string{"network", "create"}, labels...)
	if spec.Isolated {
		args = append(args, "--internal")
	}
	_, err := r.finish(ctx, append(args, spec.Name)...)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = r.resolves(ctx, spec.Name)
	}
	if err != nil {
		return nil, r.undo(ctx, mark, err)
	}
	return &Network{r, spec.Name}, nil
}

// resolves checks that a network has DNS: of podman's kinds, some have none.
func (r *Runtime) resolves(ctx context.Context, name string) error {
	if !r.podman {
		return nil
	}
	answer, err := r.call(ctx, r.patience, "network", "inspect", "--format", "{{.DNSEnabled}}", name)
	if err == nil && answer == "false" {
		err = fmt.Errorf("%s would resolve no names there (install netavark and aardvark-dns)", r)
	}
	return err
}

// Remove takes the network away, of which the containers must have been removed, even where ctx is
// done.
func (n *Network) Remove(ctx context.Context) error {
	if err := n.runtime.removeNetworks(ctx, "name="+n.name, n.name); err != nil {
		return fmt.Errorf("network %s: %w", n.name, err)
	}
	return nil
}
