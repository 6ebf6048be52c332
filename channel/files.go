package channel

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Files is the Source of a channel that is a directory (File and FastFile mode): each epoch is
// all its regular files, one after the other, in the byte-wise order of their paths relative to
// Dir (container contract, 3.4).
//
// Sub-directories are searched, at any depth, and links are followed; a circle of them is an
// error. Names that begin with "."
// or "_" (.amazon.manifest, _SUCCESS), the service's own markers (*.sagemaker-uploaded) and what
// is neither file nor directory are left out; so is the list that the service puts beside the
// directory under the name <channel>-manifest. An empty directory is an empty epoch.
//
// The directory is listed anew in each epoch, and a file is opened when its bytes are due. One
// that cannot be read, has vanished since, or shrinks while it is read (see File) is an error that
// names it.
type Files struct {
	Dir string

	// Lines says that the files are lines of text: where one does not end in a newline, one is
	// put in before the next byte there is, so that no two lines run together.
	Lines bool
}

// Open lists the directory and begins a pass over its files, opened one at a time.
func (f Files) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	paths, err := f.List()
	if err != nil {
		return nil, err
	}
	return &joined{ctx: ctx, parts: len(paths), lines: f.Lines, last: '\n', open: func(i int) (io.ReadCloser, any, error) {
		r, err := File(filepath.Join(f.Dir, paths[i])).Open(ctx, epoch)
		return r, partName(paths[i]), err
	}}, nil
}

// List returns the paths, relative to Dir, of the files that an epoch reads, in their order.
func (f Files) List() ([]string, error) {
	root, err := os.Stat(f.Dir)
	if err != nil {
		return nil, err
	}
	paths, err := f.list("", nil, []fs.FileInfo{root})
	slices.Sort(paths)
	return paths, err
}

// list appends to paths the files below a directory, both relative to Dir. Above are the directory
// and those that led to it.
func (f Files) list(below string, paths []string, above []fs.FileInfo) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(f.Dir, below))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if Hidden(entry.Name()) {
			continue
		}
		path := filepath.Join(below, entry.Name())
		info, err := os.Stat(filepath.Join(f.Dir, path)) // follows links
		if err != nil {
			return nil, err
		}
		switch {
		case info.Mode().IsRegular():
			paths = append(paths, path)
		case info.IsDir():
			if slices.ContainsFunc(above, func(dir fs.FileInfo) bool { return os.SameFile(dir, info) }) {
				return nil, &fs.PathError{Op: "list", Path: filepath.Join(f.Dir, path), Err: syscall.ELOOP}
			}
			if paths, err = f.list(path, paths, append(slices.Clip(above), info)); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

// Hidden reports whether a file or directory of that name is no part of a channel's data.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.Contains(name, ".sagemaker-")
}
