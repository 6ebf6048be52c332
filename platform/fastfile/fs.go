package fastfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/algospec/algospec/platform/s3stream"
)

// An FS is objects as files. It implements fs.FS, fs.ReadDirFS and fs.StatFS for
// this process; other processes see it where [Mount] has put it.
type FS struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	client s3stream.Client
	opts   Options
	tree   *tree
	cache  *cache

	asked, ahead *semaphore.Weighted // requests that are waited for, and others
	budget       *semaphore.Weighted // bytes that may be read ahead of readers
	views        *semaphore.Weighted // bytes that views may hold

	counts counts
	err    atomic.Pointer[s3stream.ObjectError]
	close  func() error
}

var errClosed = fmt.Errorf("fastfile: %w", os.ErrClosed)

// New returns a file system of the files for this process. It asks S3 for
// nothing yet. What is done with its files ends with ctx, and what is done
// with them after that fails. Paths that cannot stand side by side are a
// *PathError. The FS keeps the slice; it must be closed.
func New(ctx context.Context, client s3stream.Client, files []s3stream.File, opts Options) (*FS, error) {
	tree, err := plant(files)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	f := &FS{
		client: client,
		opts:   opts,
		tree:   tree,
		cache:  newCache(opts.Cache, opts.Block),
		asked:  semaphore.NewWeighted(int64(opts.Concurrency)),
		ahead:  semaphore.NewWeighted(int64(opts.Concurrency)),
		budget: semaphore.NewWeighted(opts.Cache / 2),
		views:  semaphore.NewWeighted(opts.Cache / 2),
	}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	f.close = sync.OnceValue(func() error {
		f.stop()
		return nil
	})
	return f, nil
}

// Close ends the file system: it cancels all requests, makes readers that wait
// fail and waits for the last goroutine. A mounted one it unmounts, if need be
// from under open files, whose readers then get errors. It may be called at any
// moment; further calls return what the first did.
func (f *FS) Close() error { return f.close() }

func (f *FS) stop() {
	f.cancel(errClosed)
	f.cache.close()
}

// Done returns a channel that is closed when the file system has ended: it was
// closed, its context is done, or somebody else unmounted it.
func (f *FS) Done() <-chan struct{} { return f.ctx.Done() }

// Err returns the first error that S3 gave a reader, an *s3stream.ObjectError,
// or nil. Being closed is none.
func (f *FS) Err() error {
	if err := f.err.Load(); err != nil {
		return err
	}
	return nil
}

func (f *FS) failed(err error) {
	if object, is := errors.AsType[*s3stream.ObjectError](err); is {
		f.err.CompareAndSwap(nil, object)
	}
}
