// Package container runs the hosts of a training job as containers, through the command line of
// podman or docker: whichever is installed.
//
//	runtime, err := container.Find(ctx, os.Getenv)
//	network, err := runtime.Network(ctx, container.NetworkSpec{Name: "job-1"})
//	defer network.Remove(ctx)
//	host, err := runtime.Start(ctx, container.Spec{
//		Name: "job-1-algo-1", Image: "localhost/pca", Network: "job-1", Alias: "algo-1",
//		Mounts: []container.Mount{{Source: tree, Target: "/opt/ml"}}, Stdout: log,
//	})
//	defer host.Remove(ctx)
//	end, err := host.Wait(ctx)
//
// The command line is used, and not the libraries, as both engines share what is needed of it
// (docs/dependencies.md). Every call of it has a limit, and no container outlives
// its Remove, even if the command hangs. A call that makes or removes something is not given up when
// its context is done: what it made is known afterwards, and removed.
//
// A process that is killed leaves its containers and networks behind, running; Sweep takes away what
// has a label.
//
// Two environment variables say how this machine wants it. ALGOSPEC_CONTAINER_RUNTIME is the command,
// with flags that come before the verb, as in "podman --runtime runc"; ALGOSPEC_CONTAINER_FLAGS is
// further flags of the verb create, as in "--gpus all" or "--ulimit nofile=1024:1024". Blanks separate
// their words; there is no quoting.
//
// Peers find each other by name through the network's DNS. Docker has its own; podman needs netavark
// and aardvark-dns.
package container
