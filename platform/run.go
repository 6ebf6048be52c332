package platform

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// uploadTimeout bounds the upload of what a stopped job saved.
const uploadTimeout = 5 * time.Minute

// Run runs the job to its end. The error is nil when the job completed, wraps a *FailedError when it
// failed, and ErrStopped when ctx was done first: the algorithm was told to stop then, and
// what it had saved is stored all the same. With either, the Result says how far the job came. A
// job that could not be started gives another error and no Result.
func Run(ctx context.Context, job Job) (*Result, error) {
	began := time.Now()
	if err := job.validate(); err != nil {
		return nil, err
	}
	inputs, err := job.list(ctx)
	if ctx.Err() != nil {
		return &Result{}, stopped(ctx)
	}
	if err != nil {
		return nil, err
	}
	tree, err := job.layOut()
	if err != nil {
		return nil, fmt.Errorf("platform: %w", err)
	}
	defer tree.remove()
	metrics, err := compileMetrics(job.MetricDefinitions)
	if err != nil {
		return nil, err
	}
	watcher, err := newWatcher()
	if err != nil {
		return nil, fmt.Errorf("platform: %w", err)
	}
	defer watcher.close()
	r := &run{job: job, began: began, tree: tree, log: &logLines{to: job.Log, metrics: metrics}}
	defer r.sweepLater()
	defer r.closeInputs()
	if err := r.provide(ctx, inputs, watcher); err != nil {
		return r.unprovided(ctx, err)
	}
	return r.run(ctx)
}

// A run is a job that runs.
type run struct {
	job   Job
	began time.Time
	tree  *tree
	log   *logLines
	pipes []*pipe
	views []*view // of channels that are directories

	downloaded, toDownload atomic.Int64 // bytes

	left <-chan error // tells when a trainer ends that was left behind; else nil
}

// sweepLater removes, once a trainer that was left behind has ended, what it wrote after the tree was
// removed, such as its failure file.
func (r *run) sweepLater() {
	if r.left != nil {
		go func() {
			<-r.left
			r.tree.remove()
		}()
	}
}

func (r *run) run(ctx context.Context) (*Result, error) {
	for _, p := range r.pipes {
		if err := p.make(); err != nil {
			r.closePipes()
			return nil, fmt.Errorf("platform: %w", err)
		}
	}
	started := time.Now()
	end, dataErr := r.train(ctx)
	result := &Result{
		Metrics: r.log.values(), ExitCode: end.code, MaxRSS: end.maxRSS,
		TrainingTime: time.Since(started), Channels: r.progress().Channels,
	}
	if failed := r.failure(ctx, end, dataErr); failed != nil {
		// The model of a failed job is not kept; what it left in output/data is.
		return result, errors.Join(failed, r.upload(ctx, result, "output"))
	}
	if ctx.Err() != nil {
		return result, errors.Join(stopped(ctx), r.upload(ctx, result, "model", "output"))
	}
	return result, r.upload(ctx, result, "model", "output")
}

// train runs the algorithm and feeds its pipes until it ends. dataErr is what kept a channel from
// being delivered, on which the algorithm is stopped.
func (r *run) train(ctx context.Context) (end hostEnd, dataErr error) {
	hostCtx, stopHost := context.WithCancelCause(ctx)
	defer stopHost(nil)
	// The pipes outlive ctx: an algorithm that is told to stop may read on until it ends.
	pipeCtx, stopPipes := context.WithCancel(context.WithoutCancel(ctx))

	var pipes sync.WaitGroup
	var failed failure
	for _, p := range r.pipes {
		pipes.Go(func() {
			if err := p.serve(pipeCtx); err != nil && failed.set(err) {
				stopHost(err)
			}
		})
	}
	pipes.Go(func() { r.diagnose(pipeCtx, r.job.stall(), r.job.logger()) })
	stopReporting := r.reportProgress()

	end = r.runHost(hostCtx)
	stopPipes()
	pipes.Wait()
	r.closePipes()
	stopReporting()
	r.log.close()
	for _, v := range r.views {
		failed.set(v.err())
	}
	return end, failed.get()
}

// closePipes ends what no algorithm reads any more. A pipe whose data broke off is closed here and
// not before, so that its reader never sees a normal end.
func (r *run) closePipes() {
	for _, p := range r.pipes {
		p.close()
	}
}

// upload stores the named directories of the tree: "model" and "output".
func (r *run) upload(ctx context.Context, result *Result, names ...string) error {
	stop := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// A stop, before or meanwhile, bounds the upload and does not end it.
	defer context.AfterFunc(stop, func() { // no timer outlives the upload
		timer := time.NewTimer(uploadTimeout)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-ctx.Done():
		}
	})()
	for _, name := range names {
		dir, uri := r.tree.model(), &result.ModelArtifacts
		if name == "output" {
			dir, uri = r.tree.output(), &result.Output
		}
		stored, err := r.store(ctx, dir, name+".tar.gz")
		if err != nil {
			return &FailedError{Job: r.job.Name, Reason: reason("ClientError: Artifact upload failed: " + err.Error()), Err: err}
		}
		*uri = stored
	}
	return nil
}

// progress returns how far the channels are.
func (r *run) progress() Progress {
	progress := Progress{Elapsed: time.Since(r.began), Downloaded: r.downloaded.Load(), ToDownload: r.toDownload.Load()}
	for _, p := range r.pipes {
		progress.Channels = append(progress.Channels, p.progress())
	}
	return progress
}

// reportProgress calls the job's Progress now and then, and a last time when the returned function
// is called.
func (r *run) reportProgress() (stop func()) {
	if r.job.Progress == nil {
		return func() {}
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.job.Progress(r.progress())
			case <-done:
				r.job.Progress(r.progress())
				return
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}
