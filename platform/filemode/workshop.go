package filemode

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Reserved is the name of the directory, in the channel's, that holds what an
// unfinished Download has brought so far. No file may have it.
const Reserved = workshop

// workshop is a directory in the channel's, and so on its file system. Consumers
// of channels skip its name.
const (
	workshop   = ".algospec-download"
	recordFile = workshop + "/record"
	freshFile  = workshop + "/record.new" // until it is complete
)

// open takes the directory for this process. Close it also after an error.
func (d *download) open() (err error) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	if d.root, err = os.OpenRoot(d.dir); err != nil {
		return err
	}
	if err := d.root.Mkdir(workshop, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := d.root.Lstat(workshop); err != nil {
		return err
	} else if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: workshop, Err: syscall.ENOTDIR}
	}
	if d.shop, err = d.root.Open(workshop); err != nil {
		return err
	}
	return lock(d.shop)
}

func (d *download) close() {
	if d.record != nil {
		d.record.file.Close()
	}
	if d.shop != nil {
		d.shop.Close() // and with it the lock
	}
	if d.root != nil {
		d.root.Close()
	}
}

// makeDir makes a directory and those above it.
func (d *download) makeDir(name string) error {
	if d.made[name] {
		return nil
	}
	if err := d.makeDir(path.Dir(name)); err != nil {
		return err
	}
	switch err := d.root.Mkdir(name, 0o755); {
	case err == nil:
		if err := d.root.Chmod(name, 0o755); err != nil { // whatever the umask is
			return err
		}
	case errors.Is(err, fs.ErrExist):
		if info, err := d.root.Stat(name); err != nil {
			return err
		} else if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
		}
	default:
		return err
	}
	d.made[name] = true
	return nil
}
