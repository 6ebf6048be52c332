package pca_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/internal/fleet"
)

// feed makes the pipe of the channel train, writes to it, and returns it. What it writes fits into the pipe.
func feed(t *testing.T, h *fleet.Host, data []byte) *os.File {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(h.Pipe("train", 0), 0o666))
	pipe, err := os.OpenFile(h.Pipe("train", 0), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { pipe.Close() })
	_, err = pipe.Write(data)
	require.NoError(t, err)
	return pipe
}

func awaitLog(t *testing.T, h *fleet.Host, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(h.Log(), text) }, time.Minute, time.Millisecond, "%s: %s", h.Name, h.Log())
}

func stop(t *testing.T, hosts []*fleet.Host) {
	t.Helper()
	for _, h := range hosts {
		require.NoError(t, h.Cmd.Process.Signal(syscall.SIGTERM))
	}
	for _, h := range hosts {
		require.Zero(t, h.Wait(), "%s: %s", h.Failure(t), h.Log())
		require.Empty(t, h.Failure(t))
	}
}

func piped(t *testing.T, hosts int) ([]*fleet.Host, fleet.Job) {
	t.Helper()
	job := fleet.Job{
		HyperParameters: map[string]string{"feature_dim": "5", "num_components": "2", "mini_batch_size": "10"},
		Checkpoints:     t.TempDir(),
		Pipe:            true,
	}
	for range hosts {
		job.Shards = append(job.Shards, map[string][]byte{"train": nil})
	}
	return fleet.Start(t, job), job
}

func TestAJobThatIsStoppedWhileItWaitsForItsPipeSaysWhyThereIsNoModel(t *testing.T) {
	hosts, _ := piped(t, 1)
	awaitLog(t, hosts[0], "The default executor")
	stop(t, hosts)
	require.Contains(t, hosts[0].Log(), "Stopped, and there is no model: channel train: no record in it")
	require.NoFileExists(t, filepath.Join(hosts[0].Base, "model", pca.ModelFile))
}

// The rows that were read, in whole batches, are those of the model, and a snapshot is left for another job.
func TestAJobThatIsStoppedInMidEpochLeavesAModelAndASnapshot(t *testing.T) {
	rows := random(100, 5, 31)
	hosts, job := piped(t, 1)
	feed(t, hosts[0], rows.encode(t))
	awaitLog(t, hosts[0], "feature(s) found")
	stop(t, hosts)
	n := readBefore(t, hosts[0])
	want, _ := train(t, params(5, 2), map[string]table{"train": rows[:n]})
	requireSame(t, want, readModel(t, filepath.Join(hosts[0].Base, "model")))
	store := checkpoint.NewStore(job.Checkpoints, checkpoint.Options{AnyHyperParameters: true})
	latest, err := store.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(n), latest.Position("train").Records)
}

// readBefore returns how many rows a host had read when it was stopped.
func readBefore(t *testing.T, h *fleet.Host) int {
	t.Helper()
	found := regexp.MustCompile(`Stopped after (\d+) records\.`).FindStringSubmatch(h.Log())
	require.NotNil(t, found, "%s", h.Log())
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	require.Positive(t, n)
	require.Zero(t, n%10)
	return n
}

// Two hosts wait in the first collective for the third, which is in the middle of its epoch: all meet there, and
// the model is that of all the rows that they have read.
func TestAJobThatIsStoppedInACollectiveLeavesAModel(t *testing.T) {
	rows := random(300, 5, 32)
	hosts, _ := piped(t, 3)
	for i, h := range hosts {
		pipe := feed(t, h, rows[i*100:][:100].encode(t))
		awaitLog(t, h, "feature(s) found")
		if i > 0 {
			require.NoError(t, pipe.Close())
			awaitLog(t, h, "#throughput_metric")
		}
	}
	stop(t, hosts)
	want, _ := train(t, params(5, 2), map[string]table{"train": append(rows[:readBefore(t, hosts[0]):100], rows[100:]...)})
	requireSame(t, want, readModel(t, filepath.Join(hosts[0].Base, "model")))
}

// Whenever the signal comes, the process ends well and at once, with a model or with the reason.
func TestAJobThatIsStoppedAtAnyInstantEndsWell(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random, rows := rand.New(rand.NewPCG(seed, 0)), random(30000, 20, 33)
	job := resumable(t, rows)
	began := time.Now()
	want, _ := complete(t, job)
	took := time.Since(began)
	for range soak(t, 20) {
		job.Checkpoints = t.TempDir()
		hosts := fleet.Start(t, job)
		time.Sleep(time.Duration(random.Float64() * float64(took))) // the instant is the point
		hosts[0].Cmd.Process.Signal(syscall.SIGTERM)
		began := time.Now()
		if hosts[0].Wait() < 0 {
			require.Empty(t, hosts[0].Log(), "the process had begun, and did not catch the signal")
			continue
		}
		require.Less(t, time.Since(began), time.Minute)
		require.Zero(t, hosts[0].Cmd.ProcessState.ExitCode(), "%s: %s", hosts[0].Failure(t), hosts[0].Log())
		require.Empty(t, hosts[0].Failure(t))
		if _, err := os.Stat(filepath.Join(hosts[0].Base, "model", pca.ModelFile)); err != nil {
			require.Regexp(t, "Stopped, and there is no model|stopped by the platform", hosts[0].Log())
		}
		model, logs := complete(t, job) // from where the stopped one came to
		require.Equal(t, want, model, "%s\n%s", hosts[0].Log(), logs[0])
	}
}
