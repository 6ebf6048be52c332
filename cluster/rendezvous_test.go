package cluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
)

// member of a job of the given hosts.
func host(t *testing.T, rank, n int, opts cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.New(cluster.Config{CurrentHost: names(n)[rank], Hosts: names(n)}, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &c
}

// addressed returns options whose leader has an address of its own.
func addressed(t *testing.T) cluster.Options {
	opts := options()
	opts.Addresses = map[string]string{"algo-1": freeAddress(t)}
	return opts
}

// all calls f for each host at once.
func all(hosts []*cluster.Cluster, f func(c *cluster.Cluster) error) []error {
	errs := make([]error, len(hosts))
	var wait sync.WaitGroup
	for i, c := range hosts {
		wait.Go(func() { errs[i] = f(c) })
	}
	wait.Wait()
	return errs
}

// log is a buffer for one goroutine to write and another to read.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) waitFor(t *testing.T, want string) {
	t.Helper()
	require.Eventually(t, func() bool { return bytes.Contains([]byte(l.String()), []byte(want)) }, time.Minute, time.Millisecond, want)
}

func TestHostsThatAreLateAreLoggedAndAwaited(t *testing.T) {
	opts := addressed(t)
	var leaderLog, followerLog log
	leaderOpts, followerOpts := opts, opts
	leaderOpts.Logger = slog.New(slog.NewTextHandler(&leaderLog, nil))
	followerOpts.Logger = slog.New(slog.NewTextHandler(&followerLog, nil))
	leader, first, second := host(t, 0, 3, leaderOpts), host(t, 1, 3, followerOpts), host(t, 2, 3, opts)
	var wait sync.WaitGroup
	defer wait.Wait()
	sum := func(c *cluster.Cluster) func() {
		return func() {
			x := []float64{float64(c.Rank())}
			if err := c.AllReduce(t.Context(), x); err != nil || x[0] != 3 {
				t.Errorf("rank %d: %v, %v", c.Rank(), x, err)
			}
		}
	}
	wait.Go(sum(first))
	followerLog.waitFor(t, "missing=algo-1 err=\"dial tcp")
	wait.Go(sum(leader))
	leaderLog.waitFor(t, "missing=algo-3")
	followerLog.waitFor(t, "the leader waits for other hosts")
	wait.Go(sum(second))
}

func TestAtTheDeadlineAllHostsListWhoIsMissing(t *testing.T) {
	opts := addressed(t)
	opts.Rendezvous = time.Second
	hosts := []*cluster.Cluster{host(t, 0, 4, opts), host(t, 2, 4, opts)}
	for _, err := range all(hosts, func(c *cluster.Cluster) error { return c.Barrier(t.Context()) }) {
		require.EqualError(t, err, "cluster: not all hosts came within 1s: missing algo-2, algo-4")
	}
	alone := host(t, 1, 4, opts)
	require.ErrorContains(t, alone.Connect(t.Context()), "cluster: not all hosts came within 1s: missing algo-1: dial tcp")
}

func TestNamesThatDoNotResolveAreAwaited(t *testing.T) {
	opts := options()
	opts.Rendezvous = 500 * time.Millisecond
	for rank := range 2 {
		c, err := cluster.New(cluster.Config{CurrentHost: []string{"one.invalid", "two.invalid"}[rank], Hosts: []string{"one.invalid", "two.invalid"}}, opts)
		require.NoError(t, err)
		err = c.Barrier(t.Context())
		require.ErrorContains(t, err, "cluster: not all hosts came within 500ms: missing one.invalid: ")
		c.Close()
	}
}

func TestCancellationWhileWaitingForHostsIsItsCause(t *testing.T) {
	opts := addressed(t)
	for rank := range 2 {
		c := host(t, rank, 2, opts)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
		require.Equal(t, why, c.Barrier(ctx))
		c.Close()
	}
}

// Hosts that must not come in do not keep those from coming in that must.
func TestStrangersDoNotDisturb(t *testing.T) {
	opts := addressed(t)
	address := opts.Addresses["algo-1"]
	var leaderLog log
	leaderOpts := opts
	leaderOpts.Logger = slog.New(slog.NewTextHandler(&leaderLog, nil))
	leader := host(t, 0, 3, leaderOpts)
	result := make(chan error, 1)
	go func() { result <- leader.Barrier(t.Context()) }()
	stranger := func(say []byte) net.Conn {
		var conn net.Conn
		require.Eventually(t, func() (ok bool) {
			var err error
			conn, err = net.Dial("tcp", address)
			return err == nil
		}, time.Minute, time.Millisecond)
		t.Cleanup(func() { conn.Close() })
		_, err := conn.Write(say)
		require.NoError(t, err)
		return conn
	}
	const magic = "algospec cluster\x00\x02"
	frame := func(kind byte, length uint32, payload string) []byte {
		return append(binary.LittleEndian.AppendUint32(append([]byte(magic), kind), length), payload...)
	}
	silent := stranger(nil)
	for name, say := range map[string][]byte{
		"garbage":           []byte("GET / HTTP/1.1\r\nHost: algo-1\r\n\r\n"),
		"a huge hello":      frame(1, 0xffffffff, ""),
		"data before hello": frame(7, 8, "12345678"),
		"no JSON":           frame(1, 5, "hello"),
		"a negative rank":   frame(1, 55, `{"Job":"job","Host":"algo-1","Rank":-1,"Size":3}       `),
	} {
		conn := stranger(say)
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		_, err := io.Copy(io.Discard, conn)
		require.False(t, errors.Is(err, context.DeadlineExceeded) || isTimeout(err), "%s: %v", name, err)
	}
	newer := stranger([]byte("algospec cluster\x00\x03"))
	answer, _ := io.ReadAll(newer)
	require.Contains(t, string(answer), "it speaks version 2 of the protocol, not 3")

	other := opts
	other.Rendezvous = 300 * time.Millisecond
	other.Job = "another"
	require.ErrorContains(t, host(t, 1, 3, other).Connect(t.Context()), "missing algo-1: it leads another job")
	other.Job, other.Attempt = opts.Job, "2"
	require.ErrorContains(t, host(t, 1, 3, other).Connect(t.Context()), "missing algo-1: it leads another attempt of the job")
	require.EqualError(t, host(t, 1, 4, opts).Connect(t.Context()),
		`cluster: leader algo-1 refuses this host: its list of hosts has 3, and host "algo-2" is not its number 1`)

	_, err := silent.Write([]byte("a")) // has been there all the time
	require.NoError(t, err)
	first := host(t, 1, 3, opts)
	connected := make(chan error, 1)
	go func() { connected <- first.Barrier(t.Context()) }()
	leaderLog.waitFor(t, "missing=algo-3") // only: the first is in
	other = opts
	other.Rendezvous = 500 * time.Millisecond
	require.ErrorContains(t, host(t, 1, 3, other).Connect(t.Context()), "missing algo-1: it has a host of rank 1, from 127.0.0.1:")

	require.NoError(t, host(t, 2, 3, opts).Barrier(t.Context()))
	require.NoError(t, <-connected)
	require.NoError(t, <-result)
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func TestAHostThatLeavesWhileOthersAreAwaitedIsLost(t *testing.T) {
	opts := addressed(t)
	leader, first := host(t, 0, 3, opts), host(t, 1, 3, opts)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		time.AfterFunc(time.Second, cancel) // it has connected by then
		first.Barrier(ctx)
	}()
	require.EqualError(t, leader.Barrier(t.Context()), "cluster: host algo-2 is lost: it ended before a collective that others called")
}

func TestCloseEndsTheWaitForHosts(t *testing.T) {
	opts := addressed(t)
	for rank := range 2 {
		var hostLog log
		opts.Logger = slog.New(slog.NewTextHandler(&hostLog, nil))
		c := host(t, rank, 2, opts)
		result := make(chan error, 1)
		go func() { result <- c.Barrier(t.Context()) }()
		hostLog.waitFor(t, "waiting for hosts")
		c.Close()
		require.EqualError(t, <-result, "cluster: closed")
		require.EqualError(t, c.Barrier(t.Context()), "cluster: closed")
	}
}

// Processes of one machine may all have its address: the leader has the port, and the others take free ones.
func TestHostsMayShareAnAddress(t *testing.T) {
	opts := patientOptions()
	address, port, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	opts.Addresses = map[string]string{"algo-1": address, "algo-2": address, "algo-3": address}
	opts.Port, err = strconv.Atoi(port)
	require.NoError(t, err)
	var all sync.WaitGroup
	errs := make([]error, 3)
	for rank := range errs {
		c := host(t, rank, 3, opts)
		all.Go(func() { errs[rank] = c.Barrier(t.Context()) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}
