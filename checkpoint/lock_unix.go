//go:build unix

package checkpoint

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lock takes a lock, which the kernel gives back when the process ends, however it does. A file system
// that has no locks does not keep us from saving.
func lock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		file.Close()
		return nil, ErrLocked
	}
	return file, nil
}
