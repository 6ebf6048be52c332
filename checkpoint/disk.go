package checkpoint

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/algospec/algospec/internal/atomicfile"
)

// A disk is the calls to the file system that a store makes. Tests have one that fails, and one
// that forgets what was not synced.
type disk interface {
	atomicfile.Disk
	MkdirAll(dir string) error
	ReadDir(dir string) ([]fs.DirEntry, error)
	Open(path string) (fs.File, error)
	Lock(path string) (io.Closer, error) // ErrLocked where another process has it
}

// osDisk is the disk of the operating system.
type osDisk struct{ atomicfile.OS }

// MkdirAll makes a directory, and its name last.
func (d osDisk) MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := d.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return d.SyncDir(parent)
}

func (osDisk) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

func (osDisk) Open(path string) (fs.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (osDisk) Lock(path string) (io.Closer, error) { return lock(path) }
