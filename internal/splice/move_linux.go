package splice

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/poll"
)

// Supported says whether bytes can be moved on this system.
const Supported = true

// A Move is where bytes go.
type Move struct {
	Buffer  []byte          // what is read into to move bytes; it stays as it is then
	Pipe    syscall.RawConn // the writing end of a pipe, non-blocking
	Waiting func(Wait)      // called when it begins to wait, and with Nothing when that is over

	Moved int64 // bytes that have gone into the pipe
	Err   error // of the pipe, as syscall.EPIPE
}

// splice moves up to limit bytes, at least one, or returns the end of the stream or an error.
func (m *Move) splice(conn *net.TCPConn, limit int) (int, error) {
	socket, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	for {
		n, err := m.try(socket, limit)
		switch {
		case n > 0:
			m.Moved += int64(n)
			return n, nil
		case err == nil:
			return 0, io.EOF
		case errors.Is(err, unix.EAGAIN):
			if err := m.wait(socket); err != nil {
				return 0, err
			}
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EPIPE):
			m.Err = err
			return 0, err
		default:
			return 0, err
		}
	}
}

// try makes one system call.
func (m *Move) try(socket syscall.RawConn, limit int) (int, error) {
	var moved int
	var err, failed error
	closed := socket.Control(func(from uintptr) {
		failed = m.Pipe.Control(func(to uintptr) {
			n, e := unix.Splice(int(from), nil, int(to), nil, limit, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
			moved, err = int(n), e // an int or an int64, by the system
		})
	})
	if failed != nil {
		m.Err = failed
	}
	return max(0, moved), errors.Join(err, failed, closed)
}

// wait waits for bytes in the socket, and then for room in the pipe.
func (m *Move) wait(socket syscall.RawConn) error {
	defer m.Waiting(Nothing)
	if err := socket.Read(m.until(Socket, unix.POLLIN)); err != nil {
		return err
	}
	m.Waiting(Nothing)
	if err := m.Pipe.Write(m.until(Pipe, unix.POLLOUT)); err != nil {
		m.Err = err
		return err
	}
	return nil
}

// until returns whether a descriptor is ready, and says so if it is not.
func (m *Move) until(what Wait, event int16) func(fd uintptr) bool {
	return func(fd uintptr) bool {
		is := ready(fd, event)
		if !is {
			m.Waiting(what)
		}
		return is
	}
}

// ready says whether a descriptor is ready now, or broken.
func ready(fd uintptr, event int16) bool {
	events, err := poll.Now(fd, event)
	return events != 0 || err != nil
}

// IsPipe says whether a descriptor is that of a pipe, and non-blocking.
func IsPipe(raw syscall.RawConn) (is bool) {
	raw.Control(func(fd uintptr) {
		var stat unix.Stat_t
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		is = err == nil && flags&unix.O_NONBLOCK != 0 && unix.Fstat(int(fd), &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO
	})
	return is
}
