package cluster

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both ends of a connection send again soon: the one that dialled, and the one that was dialled.
func TestBothEndsPersist(t *testing.T) {
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	dialer := net.Dialer{Control: persist}
	dialled, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer dialled.Close()
	accepted, err := listener.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	for _, conn := range []net.Conn{dialled, accepted} {
		raw, err := conn.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		var thin, most int
		var unknown error
		require.NoError(t, raw.Control(func(fd uintptr) {
			thin, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpThinLinearTimeouts)
			most, unknown = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpRTOMaxMS)
		}))
		require.NoError(t, err)
		require.Equal(t, 1, thin)
		if unknown == nil { // an older kernel does not know it
			require.Equal(t, 1000, most)
		}
	}
}
