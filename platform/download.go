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

// download copies the objects of all File-mode channels, by way of Downloads if there is one, and gives
// each host its own. They are one download, so that it goes on as a whole where the job before ended.
func (a *attempt) download(ctx context.Context) error {
	var channels []*input
	var files []s3stream.File
	for i := range a.inputs {
		if in := &a.inputs[i]; in.downloaded() {
			channels = append(channels, in)
			for _, f := range in.files {
				files = append(files, s3stream.File{Path: in.Name + "/" + f.Path, Object: f.Object})
			}
		}
	}
	if len(channels) == 0 {
		return nil
	}
	dir := a.tree.downloads()
	if a.job.Downloads != "" {
		dir = filepath.Join(a.job.Downloads, a.job.Name)
	}
	if err := a.downloadTo(ctx, dir, files); err != nil {
		return ofChannel(channels, err)
	}
	defer os.RemoveAll(dir) // without its record it would be taken for somebody else's
	for _, in := range channels {
		if err := a.distribute(in, filepath.Join(dir, in.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) downloadTo(ctx context.Context, dir string, files []s3stream.File) error {
	var total int64
	for _, f := range files {
		total += f.Object.Size
	}
	a.toDownload.Store(total)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return filemode.Download(ctx, a.job.S3, dir, files, filemode.Options{
		Stream:   a.job.stream(),
		Progress: func(done, _ int64) { a.downloaded.Store(done) },
	})
}

// distribute gives the hosts the channel's files in dir. Several hosts share their bytes.
func (a *attempt) distribute(in *input, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // of no files
		return err
	}
	for _, h := range a.hosts {
		if !in.goesTo(h.group) {
			continue
		}
		if in.hasList() {
			if err := os.WriteFile(h.tree.channel(in.Name)+listSuffix, in.listText(), 0o644); err != nil {
				return err
			}
		}
		if len(a.hosts) == 1 {
			return os.Rename(dir, h.tree.channel(in.Name))
		}
		if err := linkFiles(h.tree.channel(in.Name), dir, in.filesOf(in.shard(a.members, h.member))); err != nil {
			return err
		}
	}
	return nil
}

// linkFiles makes the files, which are below from, appear below to.
func linkFiles(to, from string, files []s3stream.File) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(to, filepath.FromSlash(f.Path))
		dir := filepath.Dir(path)
		if f.IsDir() {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if f.IsDir() {
			continue
		}
		if err := os.Link(filepath.Join(from, filepath.FromSlash(f.Path)), path); err != nil {
			return err
		}
	}
	return nil
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
