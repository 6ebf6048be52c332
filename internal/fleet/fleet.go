// Package fleet starts the hosts of a training job for tests: each is a process of the test's own
// binary, whose TestMain runs the container when Member says so.
package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const variable = "ALGOSPEC_TEST_FLEET"

// Member says whether this process is a host, and which container it is to run.
func Member() (container string, ok bool) { return os.LookupEnv(variable) }

// A Job is what all hosts run.
type Job struct {
	Container       string // which Member returns
	HyperParameters map[string]string
	Shards          []map[string][]byte // of each host in turn: the data of its channels
	Checkpoints     string              // the directory of all hosts' snapshots; "" for none
	Env             []string            // more of the environment
	Pipe            bool                // the channels are named pipes, which the test makes: Host.Pipe
}

// A Host is one process.
type Host struct {
	Name string
	Base string // its /opt/ml
	Cmd  *exec.Cmd
	log  buffer
}

// Start starts the hosts, algo-1 and on. They are killed at the test's end.
func Start(t *testing.T, job Job) []*Host {
	t.Helper()
	leader := address(t)
	var hosts []*Host
	var names []string
	for i := range job.Shards {
		h := &Host{Name: fmt.Sprintf("algo-%d", i+1), Base: t.TempDir()}
		hosts, names = append(hosts, h), append(names, h.Name)
	}
	for i, h := range hosts {
		h.layOut(t, job, names, job.Shards[i])
		h.Cmd = exec.Command(os.Args[0], "train")
		h.Cmd.Env = []string{
			variable + "=" + job.Container, "SAGEMAKER_BASE_DIR=" + h.Base, "ALGOSPEC_HOSTS=algo-1=" + leader,
			"TRAINING_JOB_NAME=" + t.Name(), "GORACE=atexit_sleep_ms=0",
		}
		h.Cmd.Env = append(h.Cmd.Env, job.Env...)
		h.Cmd.Stdout, h.Cmd.Stderr = &h.log, &h.log
		require.NoError(t, h.Cmd.Start())
		t.Cleanup(func() {
			h.Cmd.Process.Kill()
			h.Cmd.Wait()
		})
	}
	return hosts
}

// address returns one that the leader can listen on. On Linux it is one of the many loopback addresses, as another process
// may take a free port of the one that all use before the leader does.
func address(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "linux" {
		return fmt.Sprintf("127.%d.%d.%d:7533", 1+rand.N(254), rand.N(256), 1+rand.N(254))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func (h *Host) layOut(t *testing.T, job Job, names []string, shard map[string][]byte) {
	t.Helper()
	channels := map[string]any{}
	for name, data := range shard {
		if job.Pipe {
			channels[name] = map[string]string{"TrainingInputMode": "Pipe"}
			continue
		}
		channels[name] = map[string]string{"TrainingInputMode": "File"}
		dir := filepath.Join(h.Base, "input", "data", name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		if data != nil {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "part"), data, 0o644))
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(h.Base, "input", "config"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(h.Base, "input", "data"), 0o755))
	for name, v := range map[string]any{
		"checkpointconfig.json": map[string]string{"LocalPath": job.Checkpoints},
		"hyperparameters.json":  job.HyperParameters, "inputdataconfig.json": channels,
		"resourceconfig.json": map[string]any{"current_host": h.Name, "hosts": names},
	} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(h.Base, "input", "config", name), text, 0o644))
	}
}

// Pipe returns the path of an epoch's pipe of a channel.
func (h *Host) Pipe(channel string, epoch int) string {
	return filepath.Join(h.Base, "input", "data", fmt.Sprintf("%s_%d", channel, epoch))
}

// Wait waits for the host's end and returns its exit status, -1 where it was killed.
func (h *Host) Wait() int {
	h.Cmd.Wait()
	return h.Cmd.ProcessState.ExitCode()
}

// Log returns what the host has printed.
func (h *Host) Log() string { return h.log.String() }

// Failure returns the failure file, "" where there is none.
func (h *Host) Failure(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.Base, "output", "failure"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return string(text)
}

// buffer is for one goroutine to write and another to read.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
