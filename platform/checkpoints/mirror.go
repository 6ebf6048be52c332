package checkpoints

import (
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/internal/upload"
)

// Client is the part of S3 that a Mirror needs; an *s3.Client has it.
type Client interface {
	upload.Client
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// Options tune a Mirror. The zero value is every default.
type Options struct {
	Interval    time.Duration    // between looks for changed files; 0 means 1 s
	Concurrency int              // files stored at a time; 0 means 4. Each takes up to 50 MB of memory
	Download    filemode.Options // how Restore fetches
	Within      string           // a directory above the Mirror's, out of which no link leads it that may have taken its place; "" means any may
	Logger      *slog.Logger     // told what is stored and deleted (debug) and what goes wrong (warn); nil discards
}

func (o Options) withDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Mirror stores what changes in a directory. Run and Final may be called from different goroutines.
type Mirror struct {
	client              Client
	bucket, prefix, dir string
	opts                Options

	turn    chan struct{} // a token, which Run or Final holds
	ended   chan struct{} // closed by Final
	end     func()
	workers errgroup.Group

	mu       sync.Mutex
	files    map[string]*file // by name: those that are there, and those gone whose objects are not
	scans    int              // how many there have been
	unseen   map[string]error // directories that the last scan could not read
	reported map[string]bool  // names that have been warned of
}

// A file is one that the directory holds or held. The Mirror's lock guards all but its name.
type file struct {
	name   string      // relative to the directory, with slashes
	scan   int         // the last that found it
	seen   fs.FileInfo // by that scan; nil when a later one did not find it
	stored fs.FileInfo // the version that S3 holds; nil if none, or not known
	sent   bool        // S3 may hold a version
	since  int         // the scan that brought what S3 lacks: this version, or that the file is gone; 0 for nothing
	busy   bool        // being stored or deleted
	tries  int         // that failed
	retry  time.Time   // when is the next
	err    error       // of the last
}

func newMirror(client Client, bucket, prefix, dir string, opts Options) *Mirror {
	m := &Mirror{
		client: client, bucket: bucket, prefix: prefix, dir: dir, opts: opts.withDefaults(),
		turn: make(chan struct{}, 1), ended: make(chan struct{}),
		files: map[string]*file{}, reported: map[string]bool{},
	}
	m.end = sync.OnceFunc(func() { close(m.ended) })
	m.workers.SetLimit(m.opts.Concurrency)
	return m
}

// Run looks for changes every Interval, and returns when ctx is done or Final is called. A ctx that is
// done ends the uploads under way, as losing the instance would: S3 keeps the versions it had. What
// cannot be stored is tried again, ever more seldom, and does not keep other files from being stored.
func (m *Mirror) Run(ctx context.Context) {
	if m.take(ctx) != nil {
		return
	}
	defer m.release()
	defer m.workers.Wait()
	ticker := time.NewTicker(m.opts.Interval)
	defer ticker.Stop()
	for {
		m.scan()
		m.storeChanged(ctx, false)
		m.deleteGone(ctx, false)
		select {
		case <-ticker.C:
		case <-m.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Final stores what Run has not stored yet and deletes what was deleted, after the algorithm's end.
// It has Run return, once what that was storing is stored. The error is an *Error that names the
// files that could not be stored or deleted, after some tries, or context.Cause(ctx).
func (m *Mirror) Final(ctx context.Context) error {
	m.end()
	if err := m.take(ctx); err != nil {
		return err
	}
	defer m.release()
	for try := range finalTries {
		if try > 0 && !wait(ctx, finalPause<<try) {
			break
		}
		m.scan()
		m.storeChanged(ctx, true)
		m.workers.Wait()
		m.deleteGone(ctx, true)
		m.workers.Wait()
		if ctx.Err() != nil || !m.hopeful() {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return m.failures()
}

const (
	finalTries = 6
	finalPause = 50 * time.Millisecond // doubled for each
)

func (m *Mirror) take(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Mirror) release() { <-m.turn }

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
