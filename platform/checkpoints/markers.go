package checkpoints

import (
	"errors"
	"io/fs"
	"os"
)

// mark says that a file is being stored. A mark that says of an older version that it was
// stored becomes this one, so that the algorithm never sees both. A mark that cannot be made, as its name would
// be too long or the directory is read-only, keeps no file from being stored.
func (m *Mirror) mark(root *os.Root, name string) {
	err := root.Rename(name+uploaded, name+uploading)
	if errors.Is(err, fs.ErrNotExist) {
		var marker *os.File
		if marker, err = root.OpenFile(name+uploading, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			err = marker.Close()
		}
	}
	m.markError(name, err)
}

// marked says that a file that was being stored is stored.
func (m *Mirror) marked(root *os.Root, name string) {
	m.markError(name, root.Rename(name+uploading, name+uploaded))
}

// unmark takes away what is said of a file.
func unmark(root *os.Root, name string) {
	root.Remove(name + uploading)
	root.Remove(name + uploaded)
}

// markError tells of a mark that could not be made. One that is there, or that the algorithm took away, is no error.
func (m *Mirror) markError(name string, err error) {
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		m.warnOnce(name+uploading, "cannot be made", "error", err)
	}
}
