package filemode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// A Mount is a directory of a file system that stands at a channel's path.
type Mount struct {
	ReadOnly bool // nothing can be written through it, whatever the permissions say

	undo func() error
}

// Link makes the directory target appear at dir, as a FileSystemDataSource does.
// Dir must not exist or be empty.
//
// Access ro is a bind mount that refuses writes, where the process may make one:
// on Linux, as root. Otherwise it is a symbolic link, the Mount's ReadOnly is
// false, and only the permissions of target keep an algorithm from writing.
// Access rw is always a symbolic link: who removes a tree that a killed process
// left behind removes the link, and through a writable mount would remove the
// data. For the same reason close a Mount before its tree is removed.
func Link(dir, target string, readOnly bool) (*Mount, error) {
	undo, mounted, err := link(dir, target, readOnly)
	if err != nil {
		return nil, &FileError{dir, err}
	}
	return &Mount{ReadOnly: mounted, undo: sync.OnceValue(undo)}, nil
}

func link(dir, target string, readOnly bool) (undo func() error, mounted bool, err error) {
	if target, err = filepath.Abs(target); err != nil { // a link is read from where it stands
		return nil, false, err
	}
	if info, err := os.Stat(target); err != nil {
		return nil, false, err
	} else if !info.IsDir() {
		return nil, false, fmt.Errorf("%s is not a directory", target)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, false, err
	}
	if readOnly {
		if undo, err := bindReadOnly(dir, target); err == nil || !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrPermission) {
			return undo, true, err
		}
	}
	if err := os.Remove(dir); err != nil {
		return nil, false, err
	}
	return func() error { return os.Remove(dir) }, false, os.Symlink(target, dir)
}

// Close takes the directory out of the channel's path, which then does not exist.
// It does not wait for processes that still use it. Further calls do nothing.
func (m *Mount) Close() error { return m.undo() }
