package cluster_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/cluster/clustertest"
	"github.com/algospec/algospec/internal/leaks"
)

func TestMain(m *testing.M) {
	member() // does not return in a child; see processes_test.go
	leaks.Main(m)
}

func TestLoopbackKeepsTheContract(t *testing.T) {
	require.NoError(t, clustertest.TestCluster(t.Context(), func() []cluster.Cluster { return cluster.Loopback(3) }))
}

func TestTCPKeepsTheContract(t *testing.T) {
	require.NoError(t, clustertest.TestCluster(t.Context(), func() []cluster.Cluster { return overTCP(t, 3, patientOptions()) }))
}

// options are short times, for tests.
func options() cluster.Options {
	return cluster.Options{
		Job: "job", Rendezvous: time.Minute, Reminder: 100 * time.Millisecond,
		Heartbeat: 100 * time.Millisecond, Silence: 5 * time.Second,
	}
}

// patientOptions are for tests in which no host falls silent, however busy the machine is.
func patientOptions() cluster.Options {
	opts := options()
	opts.Silence = time.Minute
	return opts
}

func names(n int) (hosts []string) {
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("algo-%d", i+1))
	}
	return hosts
}

// freeAddress returns an address of this machine on which nobody listens.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer listener.Close()
	return listener.Addr().String()
}

// overTCP returns the views of n hosts in this process.
func overTCP(tb testing.TB, n int, opts cluster.Options) []cluster.Cluster {
	tb.Helper()
	opts.Addresses = map[string]string{"algo-1": freeAddress(tb)}
	clusters := make([]cluster.Cluster, n)
	for rank, host := range names(n) {
		var err error
		clusters[rank], err = cluster.New(cluster.Config{CurrentHost: host, Hosts: names(n)}, opts)
		require.NoError(tb, err)
	}
	return clusters
}

func TestOneHostNeedsNobody(t *testing.T) {
	for name, c := range map[string]cluster.Cluster{"zero": {}, "loopback": cluster.Loopback(1)[0], "TCP": overTCP(t, 1, options())[0]} {
		t.Run(name, func(t *testing.T) {
			defer c.Close()
			x := []float64{1, 2}
			require.NoError(t, c.Connect(t.Context()))
			require.NoError(t, c.Barrier(t.Context()))
			require.NoError(t, c.AllReduce(t.Context(), x))
			require.NoError(t, c.Broadcast(t.Context(), 0, x))
			require.EqualError(t, c.Broadcast(t.Context(), 1, x), "cluster: broadcast from rank 1, of 1 hosts")
			require.Equal(t, []float64{1, 2}, x)
			got, err := c.Gather(t.Context(), []byte("me"))
			require.NoError(t, err)
			require.Equal(t, [][]byte{[]byte("me")}, got)
			got, err = c.AllGather(t.Context(), []byte("me"))
			require.NoError(t, err)
			require.Equal(t, [][]byte{[]byte("me")}, got)
			share, err := cluster.ReduceScatter(t.Context(), &c, cluster.Max, x)
			require.NoError(t, err)
			require.Equal(t, []float64{1, 2}, share)
		})
	}
}

func TestAJobWithoutCollectivesOpensNoPort(t *testing.T) {
	opts := options()
	address := freeAddress(t)
	opts.Addresses = map[string]string{"algo-1": address}
	c, err := cluster.New(cluster.Config{CurrentHost: "algo-1", Hosts: names(2)}, opts)
	require.NoError(t, err)
	_, err = net.Dial("tcp", address)
	require.ErrorContains(t, err, "refused")
	c.Close()
}

func TestAddressesAreParsed(t *testing.T) {
	got, err := cluster.ParseAddresses("algo-1=127.83.12.1,algo-2=127.0.0.1:40001")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"algo-1": "127.83.12.1", "algo-2": "127.0.0.1:40001"}, got)
	got, err = cluster.ParseAddresses("")
	require.NoError(t, err)
	require.Empty(t, got)
	for text, want := range map[string]string{
		"algo-1":       `cluster: addresses: "algo-1" is not host=address`,
		"=1.2.3.4":     `cluster: addresses: "=1.2.3.4" is not host=address`,
		"a=1,":         `cluster: addresses: "" is not host=address`,
		"a=1,b=2,a=11": `cluster: addresses: host "a" is there twice`,
	} {
		_, err := cluster.ParseAddresses(text)
		require.EqualError(t, err, want)
	}
}
