package checkpoints

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/s3stream"
)

// Restore copies the objects below an S3 URI into dir, which it makes if need be, and returns what
// keeps the two alike from then on. The URI is a folder, with a slash at its end or without; that it
// holds nothing is fine. Objects named like markers or unfinished files stay where they are. Errors
// are those of s3stream.ListTree, s3stream.Layout and filemode.Download.
func Restore(ctx context.Context, client Client, uri, dir string, opts Options) (*Mirror, error) {
	uri = folder(uri)
	bucket, prefix, err := s3stream.ParseURI(uri)
	if err != nil {
		return nil, &s3stream.LayoutError{URI: uri, Err: err}
	}
	var files []s3stream.File
	for range attempts {
		files, err = fetch(ctx, client, uri, dir, opts.Download)
		if !errors.Is(err, s3stream.ErrChanged) && !errors.Is(err, s3stream.ErrVanished) {
			break // else another host, which runs already, has written or pruned
		}
	}
	if err != nil {
		return nil, err
	}
	m := newMirror(client, bucket, prefix, dir, opts)
	return m, m.know(files)
}

// attempts is how often objects that changed are listed and fetched.
const attempts = 5

func fetch(ctx context.Context, client Client, uri, dir string, opts filemode.Options) ([]s3stream.File, error) {
	objects, err := s3stream.ListTree(ctx, client, uri)
	if err != nil && !errors.Is(err, s3stream.ErrNoObjects) {
		return nil, err
	}
	_, prefix, err := s3stream.ParseURI(uri)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o s3stream.Object) bool { return privatePath(o.Key[len(prefix):]) })
	files, err := s3stream.Layout(uri, objects)
	if err != nil {
		return nil, err
	}
	return files, filemode.Download(ctx, client, dir, files, opts)
}

// know takes files that were restored as stored.
func (m *Mirror) know(files []s3stream.File) error {
	for _, restored := range files {
		if restored.IsDir() {
			continue
		}
		info, err := os.Lstat(filepath.Join(m.dir, filepath.FromSlash(restored.Path)))
		if err != nil {
			return err
		}
		m.files[restored.Path] = &file{name: restored.Path, seen: info, stored: info, sent: true}
	}
	return nil
}
