package records

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// files returns the parts that are a file, a named pipe, or the files of a directory.
func files(path string) ([]part, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []part{file(path, info)}, nil
	}
	return directory(path)
}

// directory returns the files that channel.Files reads, in its order.
func directory(dir string) ([]part, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	var parts []part
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == root:
			return err
		case hidden(entry.Name()) && entry.IsDir():
			return fs.SkipDir
		case hidden(entry.Name()):
			return nil
		}
		info, err := os.Stat(path) // follows links, as mounted volumes have them
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(root, path)
		parts = append(parts, file(filepath.Join(dir, relative), info))
		return err
	})
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return parts, err
}

// hidden reports whether a name is one that SageMaker keeps from channels, or its own marker.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.Contains(name, ".sagemaker-")
}

func file(path string, info fs.FileInfo) part {
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	if info.Mode().IsRegular() {
		return part{path, info.Size(), func(context.Context) (io.ReadCloser, error) { return open() }}
	}
	return part{path, -1, func(ctx context.Context) (io.ReadCloser, error) { return interruptible(ctx, open), nil }}
}
