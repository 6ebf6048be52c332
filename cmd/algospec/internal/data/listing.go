package data

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/algospec/algospec/platform/s3stream"
)

// listing says which objects are delivered, and in which order.
type listing struct {
	Manifest    bool       `xor:"kind" help:"The URI is that of a manifest (ManifestFile): [{\"prefix\": \"s3://…\"}, \"key\", …]."`
	Attributes  attributes `xor:"kind" placeholder:"NAME,..." help:"The URI is that of an augmented manifest (AugmentedManifestFile); take these attributes of each line."`
	Shard       shard      `placeholder:"I/N" help:"Take what host I of N gets, counted from 0 (ShardedByS3Key)."`
	ShuffleSeed *int64     `placeholder:"SEED" help:"Shuffle the objects, or an augmented manifest's lines, anew for each epoch (ShuffleConfig)."`
	Channel     string     `default:"train" placeholder:"NAME" help:"The channel's name, on which the shuffled order depends (${default})."`
	Epoch       int        `default:"0" placeholder:"N" help:"The epoch, or the first one, counted from 0 (${default})."`
}

func (l *listing) validate() error { return atLeast(0, "--epoch", l.Epoch) }

// read reads the list from S3.
func (l *listing) read(ctx context.Context, client s3stream.Client, uri string) (s3stream.Listing, error) {
	switch {
	case len(l.Attributes) > 0:
		return s3stream.ReadAugmented(ctx, client, uri, l.Attributes)
	case l.Manifest:
		manifest, err := s3stream.ReadManifest(ctx, client, uri)
		if err != nil {
			return nil, err
		}
		return manifest.Objects, nil
	}
	return s3stream.List(ctx, client, uri)
}

// order are the options that say in which order.
func (l *listing) order() s3stream.Options {
	opts := s3stream.Options{Shard: s3stream.Shard(l.Shard)}
	if l.ShuffleSeed != nil {
		opts.Shuffle = &s3stream.Shuffle{Seed: *l.ShuffleSeed, Channel: l.Channel}
	}
	return opts
}

// files reads the list as files.
func files(ctx context.Context, client s3stream.Client, uri string, manifest bool, of shard) ([]s3stream.File, error) {
	if manifest {
		m, err := s3stream.ReadManifest(ctx, client, uri)
		if err != nil {
			return nil, err
		}
		files, err := s3stream.LayoutManifest(m.Prefix, m.Objects, false)
		return of.files(files), err
	}
	objects, err := s3stream.ListTree(ctx, client, uri)
	if err != nil {
		return nil, err
	}
	files, err := s3stream.Layout(uri, objects)
	return of.files(files), err
}

// total returns how many of the files are not directories, and their bytes.
func total(files []s3stream.File) (count, bytes int64) {
	for i := range files {
		if !files[i].IsDir() {
			count++
			bytes += files[i].Object.Size
		}
	}
	return count, bytes
}

// A shard is I/N; the zero value is everything.
type shard s3stream.Shard

var errShard = errors.New("want I/N with I from 0 to N-1, such as 0/4")

// UnmarshalText parses I/N.
func (s *shard) UnmarshalText(text []byte) error {
	index, count, _ := strings.Cut(string(text), "/")
	i, err := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if err != nil || err2 != nil || i < 0 || i >= n {
		return fmt.Errorf("%q: %w", text, errShard)
	}
	*s = shard{Index: i, Count: n}
	return nil
}

// files returns the shard of files, and all directories.
func (s shard) files(all []s3stream.File) []s3stream.File {
	if s.Count <= 1 {
		return all
	}
	var mine []s3stream.File
	count := 0
	for _, f := range all {
		if f.IsDir() || count%s.Count == s.Index {
			mine = append(mine, f)
		}
		if !f.IsDir() {
			count++
		}
	}
	return mine
}

// attributes are names with commas between them, one at least: an empty value,
// as of a variable that is not set, must not make a prefix of a manifest.
type attributes []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *attributes) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("no attribute is named")
	}
	*a = strings.Split(string(text), ",")
	return nil
}
