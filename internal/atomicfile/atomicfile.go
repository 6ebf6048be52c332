// Package atomicfile writes files that are there whole or not at all, whatever fails on the way.
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Write makes path hold what content writes: into a temporary file beside it, synced, renamed, and
// the directory synced. After an error the file that was there before, if any, is untouched.
func Write(path string, content io.WriterTo) (err error) {
	dir := filepath.Dir(path)
	// The suffix keeps the service from uploading the file, should it look at this moment.
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*.sagemaker-ignore")
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

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
