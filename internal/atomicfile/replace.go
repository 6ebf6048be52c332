package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// A Disk is the calls to the file system that Replace makes. Tests have others than OS, that fail.
type Disk interface {
	Create(path string) (File, error) // empties a file that is there
	Rename(from, to string) error
	Remove(path string) error
	SyncDir(path string) error
}

// A File is one that is being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// OS is the Disk of the operating system.
type OS struct{}

// Create makes a file that everybody may read.
func (OS) Create(path string) (File, error) { return create(path) }

// Rename calls os.Rename.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove calls os.Remove.
func (OS) Remove(path string) error { return os.Remove(path) }

// SyncDir makes the names in a directory last.
func (OS) SyncDir(path string) error { return syncDir(path) }

// Replace is Write for who alone writes the file: the temporary file is the path with Suffix
// appended, so that one that a killed process left is written over and not left for ever. After an
// error of the last step, the sync of the directory, the new file is there, but may not last.
func Replace(disk Disk, path string, content io.WriterTo) (err error) {
	temporary := path + Suffix
	file, err := disk.Create(temporary)
	if err != nil {
		return err
	}
	_, err = content.WriteTo(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = disk.Rename(temporary, path)
	}
	if err != nil {
		disk.Remove(temporary)
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}
