package records

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/algospec/algospec/channel"
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
	paths, err := channel.Files{Dir: dir}.List()
	if err != nil {
		return nil, err
	}
	parts := make([]part, len(paths))
	for i, path := range paths {
		path = filepath.Join(dir, path)
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		parts[i] = file(path, info)
	}
	return parts, nil
}

func file(path string, info fs.FileInfo) part {
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	if info.Mode().IsRegular() {
		return part{name: path, size: info.Size(), replayable: true,
			open: func(context.Context) (io.ReadCloser, error) { return open() }}
	}
	return part{name: path, size: -1,
		open: func(ctx context.Context) (io.ReadCloser, error) { return interruptible(ctx, open), nil }}
}
