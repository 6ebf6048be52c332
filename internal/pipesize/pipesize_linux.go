// Package pipesize enlarges the buffers of named pipes, from either end.
package pipesize

import (
	"os"

	"golang.org/x/sys/unix"
)

// size is what an unprivileged process may ask for (fs.pipe-max-size). Fewer and larger
// transfers make a pipe about a third faster than its default of 64 KiB does.
const size = 1 << 20

// Enlarge asks for a larger buffer of the pipe. That it may be refused is fine.
func Enlarge(pipe *os.File) {
	if conn, err := pipe.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	}
}
