package channel

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files is the Source of a channel that is a directory (File and FastFile mode): each epoch is
// all its regular files, one after the other, in the byte-wise order of their paths relative to
// Dir. Sub-directories are searched. Names that begin with "." or "_" (.amazon.manifest,
// _SUCCESS) and the service's own markers (*.sagemaker-uploaded) are left out. An empty
// directory is an empty epoch (container contract, 3.4).
type Files struct {
	Dir string
}

// Open lists the directory and begins a pass over its files, opened one at a time.
func (f Files) Open(ctx context.Context, _ int) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	paths, err := f.list()
	if err != nil {
		return nil, err
	}
	return &filesReader{ctx: ctx, dir: f.Dir, paths: paths}, nil
}

// list returns the files of the channel, relative to Dir, in the order in which they are read.
func (f Files) list() ([]string, error) {
	root, err := filepath.EvalSymlinks(f.Dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if hidden(entry.Name()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(path) // follows links, as mounted volumes have them
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, relative)
		return err
	})
	slices.Sort(paths)
	return paths, err
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.Contains(name, ".sagemaker-")
}

// A filesReader reads files one after the other.
type filesReader struct {
	ctx   context.Context
	dir   string
	paths []string // still to open
	file  *os.File // being read, or nil
}

func (r *filesReader) Read(p []byte) (int, error) {
	for {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		if r.file == nil {
			if len(r.paths) == 0 {
				return 0, io.EOF
			}
			file, err := os.Open(filepath.Join(r.dir, r.paths[0]))
			if err != nil {
				return 0, err
			}
			r.file, r.paths = file, r.paths[1:]
		}
		n, err := r.file.Read(p)
		if err == io.EOF {
			err = r.Close()
			if n == 0 && err == nil {
				continue
			}
		}
		return n, err
	}
}

func (r *filesReader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
