package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
)

// member is a host in a process of its own, when this test binary is started as one: it sums until it
// fails or is told to end, and prints what it came to.
func member() {
	job := os.Getenv("ALGOSPEC_TEST_MEMBER") // rank size address op
	if job == "" {
		return
	}
	var rank, size int
	var address, op string
	fmt.Sscan(job, &rank, &size, &address, &op)
	opts := options()
	opts.Addresses = map[string]string{"algo-1": address}
	opts.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := cluster.New(cluster.Config{CurrentHost: names(size)[rank], Hosts: names(size)}, opts)
	if err == nil {
		err = repeat(&c, op)
	}
	fmt.Println("end:", err)
	c.Close()
	os.Exit(0)
}

// repeat calls a collective for ever, or for two minutes: long after what a test waits for.
func repeat(c *cluster.Cluster, op string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for n := 0; ; n++ {
		if err := once(ctx, c, op); err != nil {
			return err
		}
		if n == 2 {
			fmt.Println("runs")
		}
	}
}

func once(ctx context.Context, c *cluster.Cluster, op string) error {
	switch op {
	case "Barrier":
		return c.Barrier(ctx)
	case "Broadcast":
		return c.Broadcast(ctx, c.Size()-1, make([]float64, 500_000))
	case "Gather":
		_, err := c.Gather(ctx, make([]byte, 4_000_000))
		return err
	}
	x := make([]float64, 500_000)
	x[len(x)-1] = 1
	if err := c.AllReduce(ctx, x); err != nil {
		return err
	}
	if x[len(x)-1] != float64(c.Size()) {
		return fmt.Errorf("the sum is %v", x[len(x)-1])
	}
	return nil
}

// A process is a member and what it prints.
type process struct {
	cmd    *exec.Cmd
	out    *bufio.Scanner
	stderr bytes.Buffer
}

func startProcess(t *testing.T, rank, size int, address, op string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), fmt.Sprint("ALGOSPEC_TEST_MEMBER=", rank, " ", size, " ", address, " ", op), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewScanner(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// line returns the next line that the process prints, "" at its end.
func (p *process) line() string {
	p.out.Scan()
	return p.out.Text()
}

func startProcesses(t *testing.T, size int, op string) (processes []*process) {
	t.Helper()
	address := freeAddress(t)
	for rank := range size {
		processes = append(processes, startProcess(t, rank, size, address, op))
	}
	for _, p := range processes {
		require.Equal(t, "runs", p.line(), "%s", &p.stderr)
	}
	return processes
}

var operations = []string{"Barrier", "Broadcast", "AllReduce", "Gather"}

func TestAKilledHostIsNamedByAllOthersAtOnce(t *testing.T) {
	for _, op := range operations {
		for victim := range 3 {
			t.Run(fmt.Sprintf("%s, algo-%d", op, victim+1), func(t *testing.T) {
				t.Parallel()
				processes := startProcesses(t, 3, op)
				require.NoError(t, processes[victim].cmd.Process.Kill())
				requireLoss(t, processes, victim, "the connection", "connection reset", "broken pipe")
			})
		}
	}
}

// requireLoss reads the ends of all processes but the victim, which must name it.
// It says so in one of the ways given, where any are.
func requireLoss(t *testing.T, processes []*process, victim int, ways ...string) {
	t.Helper()
	for rank, p := range processes {
		if rank == victim {
			continue
		}
		line := p.line()
		require.True(t, strings.HasPrefix(line, fmt.Sprintf("end: cluster: host algo-%d is lost: ", victim+1)), "algo-%d says %s\n%s", rank+1, line, &p.stderr)
		if len(ways) > 0 {
			require.True(t, slices.ContainsFunc(ways, func(way string) bool { return strings.Contains(line, way) }), line)
		}
	}
}

func TestAStoppedHostIsNamedAfterTheSilence(t *testing.T) {
	for _, op := range []string{"Barrier", "AllReduce"} { // cluster/namespaces has the others
		for victim := range 3 {
			t.Run(fmt.Sprintf("%s, algo-%d", op, victim+1), func(t *testing.T) {
				t.Parallel()
				processes := startProcesses(t, 3, op)
				began := time.Now()
				require.NoError(t, processes[victim].cmd.Process.Signal(syscall.SIGSTOP))
				requireLoss(t, processes, victim)
				require.Greater(t, time.Since(began), options().Silence/2)
				require.Less(t, time.Since(began), 2*options().Silence+time.Minute)
				// What goes on finds that it was left: that it was silent itself, where that message could
				// still reach it, and never that another host was.
				require.NoError(t, processes[victim].cmd.Process.Signal(syscall.SIGCONT))
				line := processes[victim].line()
				require.Contains(t, line, " is lost: ")
				if strings.Contains(line, "nothing came") {
					require.Contains(t, line, fmt.Sprintf("algo-%d is lost: nothing came from it for 5s", victim+1))
				}
			})
		}
	}
}

func TestAHostThatStartsLateIsAwaited(t *testing.T) {
	for late := range 3 {
		t.Run(fmt.Sprintf("algo-%d", late+1), func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			var processes []*process
			for rank := range 3 {
				if rank != late {
					processes = append(processes, startProcess(t, rank, 3, address, "AllReduce"))
				}
			}
			time.Sleep(3 * time.Second) // being late is the point
			processes = append(processes, startProcess(t, late, 3, address, "AllReduce"))
			for _, p := range processes {
				require.Equal(t, "runs", p.line(), "%s", &p.stderr)
			}
		})
	}
}

// Hosts dial in vain meanwhile, and what they leave at the door is not taken for hosts that are lost.
func TestALeaderThatIsStoppedBeforeHostsComeGoesOn(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	leader := startProcess(t, 0, 3, address, "AllReduce")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, leader.cmd.Process.Signal(syscall.SIGSTOP))
	processes := []*process{leader, startProcess(t, 1, 3, address, "AllReduce"), startProcess(t, 2, 3, address, "AllReduce")}
	time.Sleep(2 * options().Silence) // being stopped for long is the point
	require.NoError(t, leader.cmd.Process.Signal(syscall.SIGCONT))
	for _, p := range processes {
		require.Equal(t, "runs", p.line(), "%s", &p.stderr)
	}
}

// Something happens to some host at some moment. ALGOSPEC_TEST_SEED repeats one schedule.
func TestRandomSchedulesOfFaults(t *testing.T) {
	seeds := make([]uint64, 10) // cluster/namespaces has a hundred
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if text := os.Getenv("ALGOSPEC_TEST_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seeds = []uint64{seed}
	}
	if testing.Short() {
		seeds = seeds[:min(5, len(seeds))]
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			schedule(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func schedule(t *testing.T, r *rand.Rand) {
	size, op := 2+r.IntN(4), operations[r.IntN(len(operations))]
	victim, fault := r.IntN(size), []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[r.IntN(2)]
	after := time.Duration(r.IntN(100)) * time.Millisecond
	t.Logf("%d hosts in %s, %v for algo-%d after %v", size, op, fault, victim+1, after)
	address := freeAddress(t)
	var processes []*process
	for rank := range size {
		processes = append(processes, startProcess(t, rank, size, address, op))
	}
	for _, p := range processes {
		require.Equal(t, "runs", p.line(), "%s", &p.stderr)
	}
	time.Sleep(after) // being at a random moment is the point
	require.NoError(t, processes[victim].cmd.Process.Signal(fault))
	requireLoss(t, processes, victim)
}
