package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/s3stream"
)

// downloaded says whether the channel's objects are copied before the algorithm starts.
func (in *input) downloaded() bool { return in.InputMode == fileMode && in.Directory == "" }

// download copies the objects of all File-mode channels, by way of Downloads if there is one. They
// are one download, so that it goes on as a whole where the job before ended.
func (r *run) download(ctx context.Context, inputs []input) error {
	var channels []*input
	var files []s3stream.File
	for i := range inputs {
		if in := &inputs[i]; in.downloaded() {
			channels = append(channels, in)
			for _, f := range in.files {
				files = append(files, s3stream.File{Path: in.Name + "/" + f.Path, Object: f.Object})
				r.toDownload.Add(f.Object.Size)
			}
		}
	}
	if len(channels) == 0 {
		return nil
	}
	dir := r.tree.path("input/data")
	if r.job.Downloads != "" {
		dir = filepath.Join(r.job.Downloads, r.job.Name)
	}
	if err := r.downloadTo(ctx, dir, files); err != nil {
		return ofChannel(channels, err)
	}
	for _, in := range channels {
		if err := os.MkdirAll(filepath.Join(dir, in.Name), 0o755); err != nil { // of no files
			return err
		}
	}
	if r.job.Downloads == "" {
		return nil
	}
	defer os.RemoveAll(dir) // without its record it would be taken for somebody else's
	for _, in := range channels {
		if err := os.Rename(filepath.Join(dir, in.Name), r.tree.channel(in.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) downloadTo(ctx context.Context, dir string, files []s3stream.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	stop := r.reportProgress()
	defer stop()
	return filemode.Download(ctx, r.job.S3, dir, files, filemode.Options{
		Stream:   r.job.stream(),
		Progress: func(done, _ int64) { r.downloaded.Store(done) },
	})
}

// ofChannel adds to an error about an object which channel that belongs to.
func ofChannel(channels []*input, err error) error {
	object, is := errors.AsType[*s3stream.ObjectError](err)
	if !is {
		return err
	}
	for _, in := range channels {
		for _, f := range in.files {
			if f.Object.Bucket == object.Bucket && f.Object.Key == object.Key {
				return fmt.Errorf("channel %s: %w", in.Name, err)
			}
		}
	}
	return err
}
