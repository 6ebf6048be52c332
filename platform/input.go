package platform

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/platform/s3stream"
)

// An input is what a channel's list gave: a listing for pipes, or files.
type input struct {
	Channel
	listing s3stream.Listing
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
	case in.Directory != "": // a mount takes no other
		in.Directory, err = filepath.Abs(in.Directory)
		return err
	case in.S3DataType == augmentedData:
		in.listing, err = s3stream.ReadAugmented(ctx, client, in.S3URI, in.AttributeNames)
		return err
	case in.S3DataType == manifestData:
		return in.listManifest(ctx, client)
	case in.InputMode == pipeMode:
		in.listing, err = s3stream.List(ctx, client, in.S3URI)
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
		in.listing = manifest.Objects
		return nil
	}
	in.files, err = s3stream.LayoutManifest(manifest.Prefix, manifest.Objects, false)
	return err
}

// stream is the Source of a pipe's epochs, of which the host gets a shard.
func (in *input) stream(j *Job, share int, shard s3stream.Shard) *s3stream.Source {
	opts := j.stream()
	opts.Shard = shard
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

// size returns the bytes of an epoch of a shard, as far as the list says.
func (in *input) size(shard s3stream.Shard) int64 {
	objects, ok := in.listing.(s3stream.Objects)
	if !ok {
		return 0
	}
	return shard.Objects(objects).Size()
}

// stream is how objects are fetched, for channels of all modes.
func (j *Job) stream() s3stream.Options {
	opts := j.Stream
	if opts.Logger == nil {
		opts.Logger = j.logger()
	}
	return opts
}

// filesOf returns a shard of the channel's files.
func (in *input) filesOf(shard s3stream.Shard) []s3stream.File {
	if shard.Count <= 1 {
		return in.files
	}
	var files []s3stream.File
	for i := range shard.Of(len(in.files)) {
		files = append(files, in.files[i])
	}
	return files
}

// hasList says whether a file beside the channel lists its objects.
func (c Channel) hasList() bool {
	return c.InputMode == fileMode && c.S3DataType == prefixData && c.Directory == ""
}

// listSuffix ends the name of the list, after the channel's.
const listSuffix = "-manifest"

// listText returns the text of the channel's list: the prefix as asked for, and every object of the channel,
// before sharding (container contract, 1.4).
func (in *input) listText() []byte {
	_, prefix, _ := s3stream.ParseURI(in.S3URI)
	text := []byte(prefix + "\n")
	for _, f := range in.files {
		text = fmt.Appendf(text, "s3://%s/%s\n", f.Object.Bucket, f.Object.Key)
	}
	return text
}
