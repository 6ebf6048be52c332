package platform

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// An attempt is one start of the algorithm on all hosts, in a tree of their own.
type attempt struct {
	*run
	number  int
	lose    context.CancelCauseFunc // takes the instances away
	tree    tree
	hosts   []*host
	watcher *watcher
	containers

	downloaded, toDownload atomic.Int64 // bytes
}

// newAttempt lays out the hosts' trees. The hosts get new addresses, as a trainer that was left behind may
// still listen on its own.
func (r *run) newAttempt(number int, lose context.CancelCauseFunc) (*attempt, error) {
	if err := assignAddresses(r.members); err != nil {
		return nil, err
	}
	t, err := newTree(&r.job)
	if err != nil {
		return nil, err
	}
	a := &attempt{run: r, number: number, lose: lose, tree: t}
	for _, m := range r.members {
		a.hosts = append(a.hosts, &host{
			run: a, member: m, tree: t.host(m.name), log: &hostLog{host: m.name, to: r.log},
		})
	}
	if a.watcher, err = newWatcher(); err == nil {
		err = a.layOut()
	}
	if err != nil {
		a.remove()
		return nil, err
	}
	a.addPipes()
	return a, nil
}

func (a *attempt) layOut() error {
	if err := a.name(); err != nil {
		return err
	}
	for _, h := range a.hosts {
		if err := h.layOut(); err != nil {
			return err
		}
	}
	return nil
}

// train takes the attempt as far as the algorithm's end: data, checkpoints, training.
func (a *attempt) train(ctx context.Context, stop context.CancelCauseFunc) attemptEnd {
	wasStopped := a.awaitStop(ctx)
	if a.prepares() {
		a.status.enter(Downloading, "Downloading input data")
	}
	end := attemptEnd{dataErr: a.provide(ctx)}
	if end.dataErr == nil {
		end.dataErr = a.join(ctx)
	}
	if end.dataErr == nil {
		end.dataErr = context.Cause(ctx) // rather than start what is to end at once
	}
	if end.dataErr == nil {
		a.status.enter(Training, "Training in progress")
		end = a.trainHosts(ctx, stop)
	}
	switch {
	case !wasStopped() || end.failed != nil: // a failure came first
	case context.Cause(ctx) != errInterrupted:
		end.stopped = true
	case end.hosts == nil || slices.ContainsFunc(end.hosts, hostEnd.wasTold): // all others had what they wanted of their instances
		end.lost = true
	}
	return end
}

// awaitStop enters Stopping when ctx is done, unless that is as the instances are taken away. The
// returned function ends this, and reports whether ctx was done; later is too late.
func (a *attempt) awaitStop(ctx context.Context) (wasStopped func() bool) {
	entered := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(entered)
		if context.Cause(ctx) != errInterrupted {
			a.status.enter(Stopping, "Stopping the training job")
		}
	})
	return func() bool {
		if release() {
			return false
		}
		<-entered
		return true
	}
}

// conclude stores what the attempt has left, as its end allows.
func (a *attempt) conclude(ctx context.Context, end attemptEnd, result *Result) error {
	end.fill(result, a.progress())
	switch {
	case end.lost && a.job.Spot:
		if a.job.Unannounced { // nothing is copied any more
			return errInterrupted
		}
		return errors.Join(errInterrupted, a.upload(ctx, result))
	case end.lost:
		return a.fail("InternalServerError: "+errInterrupted.Error(), errInterrupted)
	case end.stopped && end.hosts == nil: // before the algorithm started
		return stopped(ctx)
	case end.dataErr != nil:
		// The model of a failed job is not kept; what it left in output/data is.
		return errors.Join(a.fail(errorReason(end.dataErr), end.dataErr), a.upload(ctx, result, "output"))
	case end.failed != nil:
		return errors.Join(a.failure(end.failed), a.upload(ctx, result, "output"))
	}
	if !end.stopped {
		a.status.enter(Uploading, "Uploading generated training model")
	}
	err := a.upload(ctx, result, "model", "output")
	if end.stopped {
		return errors.Join(stopped(ctx), err)
	}
	return err
}

// prepares says whether anything is copied before the algorithm starts.
func (a *attempt) prepares() bool {
	for i := range a.inputs {
		if a.inputs[i].downloaded() {
			return true
		}
	}
	return a.job.Checkpoints.S3URI != ""
}

// An attemptEnd is how the algorithm ended on all hosts.
type attemptEnd struct {
	hosts   []hostEnd
	failed  *hostEnd // the host whose end is the job's, nil where none failed
	dataErr error    // what kept a channel from being delivered, on which the algorithm is stopped
	lost    bool     // the instances were taken away
	stopped bool     // the job was stopped
}

func (e *attemptEnd) fill(result *Result, channels []ChannelProgress) {
	result.Channels, result.Hosts, result.ExitCode = channels, nil, 0
	for _, end := range e.hosts {
		result.Hosts = append(result.Hosts, HostResult{Host: end.host, ExitCode: end.code, MaxRSS: end.maxRSS})
		result.MaxRSS = max(result.MaxRSS, end.maxRSS)
		result.ExitCode = cmp.Or(result.ExitCode, end.code)
	}
	if e.failed != nil {
		result.ExitCode = e.failed.code
	}
}

// trainHosts runs the algorithm on all hosts and feeds its pipes until it ends.
func (a *attempt) trainHosts(ctx context.Context, stop context.CancelCauseFunc) attemptEnd {
	defer a.limit(stop)()
	hostCtx, stopHosts := context.WithCancelCause(ctx)
	defer stopHosts(nil)
	// The pipes outlive ctx: an algorithm that is told to stop may read on until it ends.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))

	var services sync.WaitGroup
	var failed failure
	for _, p := range a.pipes() {
		services.Go(func() {
			if err := p.serve(serving); err != nil && a.counts(ctx, err) && failed.set(err) {
				stopHosts(err)
			}
		})
	}
	services.Go(func() { a.diagnose(serving, a.job.stall(), a.job.logger()) })
	for _, h := range a.hosts {
		if h.mirror != nil {
			services.Go(func() { h.mirror.Run(serving) })
		}
	}
	ends := a.runHosts(hostCtx, stopHosts)
	stopServing()
	services.Wait()
	a.closePipes()
	for _, h := range a.hosts {
		h.log.close()
		for _, v := range h.views {
			if err := v.err(); err != nil && a.counts(ctx, err) {
				failed.set(err)
			}
		}
	}
	return attemptEnd{hosts: ends, failed: culprit(ends), dataErr: failed.get()}
}

// counts reports whether data that break off end the job: not where it is ending anyhow, which could
// cost it what it has saved.
func (a *attempt) counts(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		a.job.logger().Warn("data broke off while the job was ending", "error", err)
	}
	return ctx.Err() == nil
}

// runHosts runs the algorithm on all hosts. The first that fails takes the others with it (container
// contract, 7.4).
func (a *attempt) runHosts(ctx context.Context, stop context.CancelCauseFunc) []hostEnd {
	ends := make([]hostEnd, len(a.hosts))
	var hosts sync.WaitGroup
	for i, h := range a.hosts {
		hosts.Go(func() {
			ends[i] = h.train(ctx)
			if ends[i].bad() {
				stop(errPeer)
			}
		})
	}
	hosts.Wait()
	return ends
}

// errPeer is why a host is stopped when another has failed.
var errPeer = errors.New("another host has failed")

// closePipes ends what no algorithm reads any more. A pipe whose data broke off is closed here and
// not before, so that its reader never sees a normal end.
func (a *attempt) closePipes() {
	for _, p := range a.pipes() {
		p.close()
	}
}

func (a *attempt) pipes() []*pipe {
	var pipes []*pipe
	for _, h := range a.hosts {
		pipes = append(pipes, h.pipes...)
	}
	return pipes
}

func (a *attempt) progress() []ChannelProgress {
	var channels []ChannelProgress
	for _, p := range a.pipes() {
		channels = append(channels, p.progress())
	}
	return channels
}

// remove takes away all that the attempt has made on this machine.
func (a *attempt) remove() {
	a.closePipes()
	a.part()
	for _, h := range a.hosts {
		h.withdraw()
	}
	if a.watcher != nil {
		a.watcher.close()
	}
	a.tree.remove()
	for _, h := range a.hosts {
		h.sweepLater()
	}
}

// name writes the file that tells processes each other's addresses.
func (a *attempt) name() error {
	machine, err := os.ReadFile("/etc/hosts")
	if err != nil {
		machine = []byte("127.0.0.1 localhost\n::1 localhost\n")
	}
	return os.WriteFile(a.tree.names(), hostsFile(a.members, machine), 0o644)
}
