//go:build unix

// Package poll asks for the state of a descriptor.
package poll

import "golang.org/x/sys/unix"

// Now returns which of the events of poll(2) a descriptor has now, unix.POLLERR and POLLHUP among them. The call is
// interrupted by signals though it does not wait, and the runtime sends itself some; then it is made again.
func Now(fd uintptr, events int16) (int16, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		if _, err := unix.Poll(fds, 0); err != unix.EINTR {
			return fds[0].Revents, err
		}
	}
}
