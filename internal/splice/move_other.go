//go:build !linux

package splice

import (
	"errors"
	"net"
	"syscall"
)

// Supported says whether bytes can be moved on this system.
const Supported = false

// A Move is where bytes go. There is none on this system.
type Move struct {
	Buffer  []byte
	Pipe    syscall.RawConn
	Waiting func(Wait)
	Moved   int64
	Err     error
}

func (m *Move) splice(*net.TCPConn, int) (int, error) { return 0, errors.ErrUnsupported }

// IsPipe says that no descriptor will do.
func IsPipe(syscall.RawConn) bool { return false }
