package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/s3client"
	"github.com/algospec/algospec/platform/s3stream"
)

// A file may hold a snapshot.
type file struct {
	name string // for people
	base string
	size int64
	open func(context.Context) (io.ReadCloser, error)
}

// find returns the files that the arguments name: of directories and prefixes those that are named like
// snapshots, without what the service puts beside them.
func (in inputs) find(ctx context.Context) (all []file, err error) {
	for _, arg := range in.Inputs {
		look := local
		if strings.HasPrefix(arg, "s3://") {
			look = objects
		}
		found, err := look(ctx, arg)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no snapshots", arg)
		}
		all = append(all, found...)
	}
	return all, nil
}

func local(_ context.Context, name string) (found []file, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: not a regular file", name)
		}
		return []file{localFile(name, info.Size())}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if _, ok := checkpoint.ParseName(entry.Name()); !ok || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		found = append(found, localFile(filepath.Join(name, entry.Name()), info.Size()))
	}
	return found, nil
}

func localFile(name string, size int64) file {
	return file{name, filepath.Base(name), size, func(context.Context) (io.ReadCloser, error) { return os.Open(name) }}
}

// objects returns snapshots below a prefix, or the object that is named itself.
func objects(ctx context.Context, uri string) (found []file, err error) {
	client, err := s3client.New(ctx, s3client.Options{})
	if err != nil {
		return nil, err
	}
	listed, err := s3stream.List(ctx, client, uri)
	if err != nil {
		return nil, err
	}
	for _, o := range listed {
		name := "s3://" + o.Bucket + "/" + o.Key
		if _, ok := checkpoint.ParseName(path.Base(o.Key)); !ok && name != uri {
			continue
		}
		source := s3stream.NewSource(client, s3stream.Objects{o}, s3stream.Options{})
		found = append(found, file{name, path.Base(o.Key), o.Size,
			func(ctx context.Context) (io.ReadCloser, error) { return source.Open(ctx, 0) }})
	}
	return found, nil
}

// A snapshot is what is found in a file.
type snapshot struct {
	checkpoint.Snapshot
	*file
	state  int64 // bytes
	headed bool  // the header could be read
	err    error // what is wrong with the file
}

// snapshots reads the files one by one: whole, or their headers only. An error is one that keeps a file from being
// read; it is yielded last. What is wrong with a file's content is the snapshot's.
func (in inputs) snapshots(ctx context.Context, streams console.Streams, whole bool) iter.Seq2[*snapshot, error] {
	return func(yield func(*snapshot, error) bool) {
		files, err := in.find(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		progress := &console.Progress{}
		if whole {
			total := int64(0)
			for i := range files {
				total += files[i].size
			}
			progress = console.NewProgress(streams, "reading", total)
		}
		defer progress.Done()
		for i := range files {
			found, err := files[i].read(ctx, progress, whole)
			if !yield(found, err) || err != nil {
				return
			}
		}
	}
}

func (f *file) read(ctx context.Context, progress *console.Progress, whole bool) (*snapshot, error) {
	src, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	stream := &watched{ctx: ctx, Reader: progress.Reader(src)}
	reader := checkpoint.NewReader(stream, f.size)
	found := &snapshot{file: f}
	found.Snapshot, found.err = reader.Snapshot()
	found.headed = found.err == nil
	if name, ok := checkpoint.ParseName(f.base); ok && found.headed {
		found.err = name.Check(&found.Snapshot)
	}
	if found.headed {
		found.state, _ = reader.StateSize()
	}
	if whole && found.err == nil {
		_, found.err = io.Copy(io.Discard, reader)
	}
	if stream.err != nil { // of reading, and not of what was read
		return nil, stream.err
	}
	return found, nil
}

// A watched reader ends when its context does, and keeps the error of reading.
type watched struct {
	ctx context.Context
	io.Reader
	err error
}

func (r *watched) Read(p []byte) (n int, err error) {
	if err = r.ctx.Err(); err == nil {
		n, err = r.Reader.Read(p)
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// at says which file something is about.
func (f *file) at(text string) string { return console.Printable(f.name) + ": " + text }
