package platform

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/s3stream"
)

// An input is what a channel's list gave: a listing for pipes, or files.
type input struct {
	Channel
	listing s3stream.Listing
	size    int64 // bytes of an epoch, as far as the list says
	files   []s3stream.File
}

// list reads the channels' lists. A channel of no objects is an error before the job starts.
func (j *Job) list(ctx context.Context) ([]input, error) {
	inputs := make([]input, len(j.Channels))
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range j.Channels {
		inputs[i].Channel = c.withDefaults()
		group.Go(func() error {
			if err := inputs[i].list(ctx, j.S3); err != nil {
				return fmt.Errorf("channel %s: %w", c.Name, err)
			}
			return nil
		})
	}
	return inputs, group.Wait()
}

func (in *input) list(ctx context.Context, client s3stream.Client) (err error) {
	switch {
	case in.Directory != "":
		return nil
	case in.S3DataType == augmentedData:
		in.listing, err = s3stream.ReadAugmented(ctx, client, in.S3URI, in.AttributeNames)
		return err
	case in.S3DataType == manifestData:
		return in.listManifest(ctx, client)
	case in.InputMode == pipeMode:
		objects, err := s3stream.List(ctx, client, in.S3URI)
		in.listing, in.size = objects, objects.Size()
		return err
	}
	objects, err := s3stream.ListTree(ctx, client, in.S3URI)
	if err != nil {
		return err
	}
	lay := s3stream.Layout
	if in.InputMode == fastFileMode {
		lay = s3stream.LayoutFastFile
	}
	in.files, err = lay(in.S3URI, objects)
	return err
}

func (in *input) listManifest(ctx context.Context, client s3stream.Client) error {
	manifest, err := s3stream.ReadManifest(ctx, client, in.S3URI)
	if err != nil {
		return err
	}
	if in.InputMode == pipeMode {
		in.listing, in.size = manifest.Objects, manifest.Objects.Size()
		return nil
	}
	in.files, err = s3stream.LayoutManifest(manifest.Prefix, manifest.Objects, false)
	return err
}

// stream is the Source of a pipe's epochs.
func (in *input) stream(j *Job, share int) *s3stream.Source {
	opts := j.stream()
	if opts.ReadAhead == 0 {
		opts.ReadAhead = 256 << 20
	}
	opts.ReadAhead = max(1, opts.ReadAhead/int64(share))
	opts.Gzip = in.CompressionType == gzipped
	opts.RecordIO = in.RecordWrapperType == recordIO
	if in.ShuffleSeed != nil {
		opts.Shuffle = &s3stream.Shuffle{Seed: *in.ShuffleSeed, Channel: in.Name}
	}
	return s3stream.NewSource(j.S3, in.listing, opts)
}

// stream is how objects are fetched, for channels of all modes.
func (j *Job) stream() s3stream.Options {
	opts := j.Stream
	if opts.Logger == nil {
		opts.Logger = j.logger()
	}
	return opts
}

// provide makes the channels appear in the tree: directories whole, pipes as far as they are made
// before the algorithm starts.
func (r *run) provide(ctx context.Context, inputs []input, w *watcher) error {
	piped := 0
	for i := range inputs {
		if inputs[i].InputMode == pipeMode {
			piped++
		}
	}
	for i := range inputs {
		if in := &inputs[i]; in.InputMode == pipeMode {
			r.pipes = append(r.pipes, r.newPipe(in, in.stream(&r.job, piped), w))
		}
	}
	if err := r.download(ctx, inputs); err != nil {
		return err
	}
	for i := range inputs {
		in := &inputs[i]
		if in.InputMode == pipeMode || in.downloaded() {
			continue
		}
		if err := r.view(ctx, in); err != nil {
			return fmt.Errorf("channel %s: %w", in.Name, err)
		}
	}
	return nil
}

func (r *run) newPipe(in *input, source *s3stream.Source, w *watcher) *pipe {
	p := &pipe{
		path: r.tree.channel(in.Name), workshop: r.tree.workshop(), watcher: w,
		name: in.Name, size: in.size, source: source, began: r.began,
		lookAhead: r.job.LookAhead.fork(), stall: r.job.stall(), logger: r.job.logger(),
	}
	p.reading.Store(-1)
	return p
}

// A view is a channel's directory that must be taken away before the tree is.
type view struct {
	close func() error
	err   func() error // what kept its files from being read, nil if nothing did
}

// view makes a channel's directory appear.
func (r *run) view(ctx context.Context, in *input) error {
	dir := r.tree.channel(in.Name)
	if in.Directory != "" {
		mount, err := filemode.Link(dir, in.Directory, in.FileSystemAccessMode == readOnly)
		if err != nil {
			return err
		}
		r.views = append(r.views, &view{mount.Close, func() error { return nil }})
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The view outlives ctx: an algorithm that is told to stop may read on until it ends.
	fs, err := fastfile.Mount(context.WithoutCancel(ctx), dir, r.job.S3, in.files, fastfile.Options{Stream: r.job.stream()})
	if err != nil {
		return err
	}
	r.views = append(r.views, &view{fs.Close, func() error {
		if err := fs.Err(); err != nil {
			return fmt.Errorf("channel %s: %w", in.Name, err)
		}
		return nil
	}})
	return nil
}

// unprovided is the end of a job whose channels could not be made.
func (r *run) unprovided(ctx context.Context, err error) (*Result, error) {
	if ctx.Err() != nil {
		return &Result{}, stopped(ctx)
	}
	return &Result{}, &FailedError{Job: r.job.Name, Reason: dataReason(err), Err: err}
}

// closeInputs takes the views away, which comes before the tree is removed.
func (r *run) closeInputs() {
	for _, v := range r.views {
		if err := v.close(); err != nil {
			r.job.logger().Warn("a channel's directory could not be taken away", "error", err)
		}
	}
}
