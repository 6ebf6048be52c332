package cluster

import "syscall"

// Options of Linux that package syscall lacks; see tcp(7) and linux/tcp.h.
const (
	tcpThinLinearTimeouts = 16
	tcpRTOMaxMS           = 44 // since 6.15
)

// persist lets the kernel send again at least once a second what was not acknowledged. It would wait twice as long
// each time, and a cable that is out for half of the silence would be followed by as long a silence again. A
// kernel that does not know an option goes on as it is.
func persist(_, _ string, conn syscall.RawConn) error {
	return conn.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpThinLinearTimeouts, 1)
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpRTOMaxMS, 1000)
	})
}
