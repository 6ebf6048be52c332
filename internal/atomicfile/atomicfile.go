// Package atomicfile writes files that are there whole or not at all, whatever fails on the way.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write makes path hold what content writes: into a temporary file beside it, synced, renamed, and
// the directory synced. After an error the file that was there before, if any, is untouched.
func Write(path string, content io.WriterTo) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*"+Suffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = content.WriteTo(file)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// Suffix marks a file that is being written. The service does not upload such files.
const Suffix = ".sagemaker-ignore"

// Unfinished reports whether the name is that of a file which is being written, or was when its
// writer was killed.
func Unfinished(name string) bool { return strings.HasSuffix(name, Suffix) }

// Empty reports whether a directory holds no finished file, at any depth. One that does not exist
// is empty.
func Empty(dir string) (bool, error) {
	empty := true
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if path == dir && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() || Unfinished(entry.Name()) {
			return err
		}
		empty = false
		return fs.SkipAll
	})
	return empty, err
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
