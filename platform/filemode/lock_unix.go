//go:build linux || darwin

package filemode

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other processes away until the directory is closed, however this
// process ends. Where directories cannot be locked, as over NFS, it does nothing.
func lock(dir *os.File) error {
	if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK {
		return ErrBusy
	}
	return nil
}
