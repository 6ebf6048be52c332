//go:build !linux

package splice

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Supported says whether bytes can be moved on this system.
const Supported = false

// A Move is where bytes go. There is none on this system.
type Move struct {
	Buffer                         []byte
	Pipe                           syscall.RawConn
	Rest                           func()
	Moved                          int64
	WaitedForPipe, WaitedForSocket time.Duration
	Err                            error
}

func (m *Move) splice(*net.TCPConn, int) (int, error) { return 0, errors.ErrUnsupported }

// Pipe says that no descriptor will do.
func Pipe(syscall.RawConn) bool { return false }
