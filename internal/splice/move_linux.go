package splice

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported says whether bytes can be moved on this system.
const Supported = true

// A Move is where bytes go.
type Move struct {
	Buffer []byte          // what is read into to move bytes; it stays as it is then
	Pipe   syscall.RawConn // the writing end of a pipe, non-blocking
	Rest   func()          // called before waiting for the pipe's reader; may be nil

	Moved           int64         // bytes that have gone into the pipe
	WaitedForPipe   time.Duration // for its reader
	WaitedForSocket time.Duration
	Err             error // of the pipe, as syscall.EPIPE
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
	var moved int64
	var err, failed error
	closed := socket.Control(func(from uintptr) {
		failed = m.Pipe.Control(func(to uintptr) {
			moved, err = unix.Splice(int(from), nil, int(to), nil, limit, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		})
	})
	if failed != nil {
		m.Err = failed
	}
	return int(max(0, moved)), errors.Join(err, failed, closed)
}

// wait waits for bytes in the socket, and then for room in the pipe.
func (m *Move) wait(socket syscall.RawConn) error {
	began := time.Now()
	if err := socket.Read(func(fd uintptr) bool { return ready(fd, unix.POLLIN) }); err != nil {
		return err
	}
	m.WaitedForSocket += time.Since(began)
	began = time.Now()
	if err := m.Pipe.Write(func(fd uintptr) bool {
		if ready(fd, unix.POLLOUT) {
			return true
		}
		if m.Rest != nil {
			m.Rest()
		}
		return false
	}); err != nil {
		m.Err = err
		return err
	}
	m.WaitedForPipe += time.Since(began)
	return nil
}

// ready says whether a descriptor is ready now, or broken.
func ready(fd uintptr, event int16) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: event}}
	n, err := unix.Poll(fds, 0)
	return n > 0 || err != nil
}

// Pipe says whether a descriptor is that of a pipe, and non-blocking.
func Pipe(raw syscall.RawConn) (is bool) {
	raw.Control(func(fd uintptr) {
		var stat unix.Stat_t
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		is = err == nil && flags&unix.O_NONBLOCK != 0 && unix.Fstat(int(fd), &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO
	})
	return is
}
