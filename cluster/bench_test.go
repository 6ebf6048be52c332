package cluster_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
)

// BenchmarkTCPCopy is the bare stream that AllReduce is compared with: 64 MB there and back between
// two ends on this machine, at the same time.
func BenchmarkTCPCopy(b *testing.B) {
	const size = 64_000_000
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer listener.Close()
	here, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(b, err)
	defer here.Close()
	there, err := listener.Accept()
	require.NoError(b, err)
	defer there.Close()
	b.SetBytes(size)
	for b.Loop() {
		var ends sync.WaitGroup
		for _, conn := range []net.Conn{here, there} {
			ends.Go(func() { copyOut(conn, size) })
			ends.Go(func() {
				io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(conn, size), make([]byte, 64<<10))
			})
		}
		ends.Wait()
	}
}

func copyOut(w io.Writer, size int) {
	chunk := make([]byte, 64<<10)
	for size > 0 {
		n, err := w.Write(chunk[:min(len(chunk), size)])
		if err != nil {
			panic(err)
		}
		size -= n
	}
}

// BenchmarkAllReduce counts the bytes of one host's numbers.
func BenchmarkAllReduce(b *testing.B) {
	for _, size := range []int{4_000, 784 * 784 * 8, 64_000_000} {
		for _, n := range []int{2, 4} {
			for _, engine := range []string{"loopback", "TCP"} {
				b.Run(fmt.Sprintf("%s/hosts=%d/bytes=%d", engine, n, size), func(b *testing.B) {
					hosts := cluster.Loopback(n)
					if engine == "TCP" {
						hosts = overTCP(b, n, cluster.Options{})
					}
					benchmark(b, hosts, size)
				})
			}
		}
	}
}

func benchmark(b *testing.B, hosts []cluster.Cluster, size int) {
	var wait sync.WaitGroup
	defer wait.Wait()
	defer hosts[0].Close()
	sums := make([]float64, size/8)
	for i := range hosts[1:] {
		c, sums := &hosts[1+i], make([]float64, size/8)
		wait.Go(func() {
			defer c.Close()
			for c.AllReduce(b.Context(), sums) == nil {
			}
		})
	}
	require.NoError(b, hosts[0].Connect(b.Context()))
	b.ReportAllocs()
	b.SetBytes(int64(size))
	for b.Loop() {
		require.NoError(b, hosts[0].AllReduce(b.Context(), sums))
	}
}
