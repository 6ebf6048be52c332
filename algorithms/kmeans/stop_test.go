package kmeans_test

import (
	"bytes"
	"context"
	"io"
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

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/hyperparams"
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
	require.Eventually(t, func() bool { return strings.Contains(h.Log(), text) }, 5*time.Minute, time.Millisecond, h.Name)
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
		HyperParameters: map[string]string{"feature_dim": "4", "k": "3", "mini_batch_size": "30", "_seed": "2"},
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
	awaitLog(t, hosts[0], "number of center slices")
	stop(t, hosts)
	require.Contains(t, hosts[0].Log(), "Stopped, and there is no model: no centers had been drawn")
	require.NoFileExists(t, filepath.Join(hosts[0].Base, "model", kmeans.ModelFile))
}

// readBefore returns how many rows a host had read when it was stopped.
func readBefore(t *testing.T, h *fleet.Host) int {
	t.Helper()
	found := regexp.MustCompile(`Stopped after (\d+) records\.`).FindStringSubmatch(h.Log())
	require.NotNil(t, found, "%s", h.Log())
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// The rows that were read, in whole batches, are those of the model, and a snapshot is left for another job.
func TestAJobThatIsStoppedInMidEpochLeavesAModelAndASnapshot(t *testing.T) {
	rows := blobs(100, 4, 3, 31)
	hosts, job := piped(t, 1)
	feed(t, hosts[0], rows.encode(t))
	awaitLog(t, hosts[0], "init_train_data_iter")
	stop(t, hosts)
	n := readBefore(t, hosts[0])
	require.Positive(t, n)
	require.Zero(t, n%30)
	want, _ := train(t, params(t, 4, 3, hyperparams.Map{"mini_batch_size": "30", "_seed": "2"}), map[string]table{"train": rows[:n]})
	require.Equal(t, want.Centers.Data, readModel(t, filepath.Join(hosts[0].Base, "model")).Centers.Data)
	store := checkpoint.NewStore(job.Checkpoints, checkpoint.Options{AnyHyperParameters: true})
	latest, err := store.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(n), latest.Position("train").Records)
}

// Two hosts have read all, and wait in a collective for the third, which is in the middle of its epoch: it tells them that it is
// stopped, and all make the same model.
func TestAJobThatIsStoppedInACollectiveLeavesAModel(t *testing.T) {
	rows := blobs(300, 4, 3, 32)
	hosts, _ := piped(t, 3)
	var pipes []*os.File
	for i, h := range hosts {
		pipes = append(pipes, feed(t, h, rows[i*100:][:100].encode(t)))
	}
	for i, h := range hosts {
		awaitLog(t, h, "init_train_data_iter")
		if i > 0 {
			require.NoError(t, pipes[i].Close())
		}
	}
	stop(t, hosts)
	m := readModel(t, filepath.Join(hosts[0].Base, "model"))
	require.Less(t, inertia(m, rows)/300, 10.0) // of 4 in the blobs themselves
	require.Positive(t, readBefore(t, hosts[0]))
}

// Whenever the signal comes, the process ends well and at once, with a model or with the reason.
func TestAJobThatIsStoppedAtAnyInstantEndsWell(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random, rows := rand.New(rand.NewPCG(seed, 0)), blobs(9000, 8, 6, 33)
	job := resumable(t, rows)
	job.HyperParameters["_full_lloyd"] = "true"
	job.Checkpoints = t.TempDir()
	began := time.Now()
	want, _ := complete(t, job)
	took := time.Since(began)
	for range soak(t, 10) {
		job.Checkpoints = t.TempDir()
		hosts := fleet.Start(t, job)
		time.Sleep(time.Duration(random.Float64() * float64(took))) // the instant is the point
		hosts[0].Cmd.Process.Signal(syscall.SIGTERM)
		if hosts[0].Wait() < 0 {
			require.Empty(t, hosts[0].Log(), "the process had begun, and did not catch the signal")
			continue
		}
		require.Zero(t, hosts[0].Cmd.ProcessState.ExitCode(), "%s: %s", hosts[0].Failure(t), hosts[0].Log())
		require.Empty(t, hosts[0].Failure(t))
		if _, err := os.Stat(filepath.Join(hosts[0].Base, "model", kmeans.ModelFile)); err != nil {
			require.Regexp(t, "Stopped, and there is no model|stopped by the platform", hosts[0].Log())
		}
		model, logs := complete(t, job) // from where the stopped one came to
		require.Equal(t, want, model, "%s\n%s", hosts[0].Log(), logs[0])
	}
}

// stopping is a Source that stops the job when an epoch is opened.
type stopping struct {
	channel.Source
	epoch  int
	cancel context.CancelCauseFunc
}

func (s stopping) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	if epoch == s.epoch {
		s.cancel(algospec.ErrStopped)
	}
	return s.Source.Open(ctx, epoch)
}

// A stop in each of the passes costs no model: what was learned before is its.
func TestAStopInAnyPassLeavesAModel(t *testing.T) {
	rows := blobs(400, 4, 5, 34)
	p := params(t, 4, 5, hyperparams.Map{"epochs": "2", "mini_batch_size": "100", "_full_lloyd": "true"})
	for _, c := range []struct {
		name    string
		epoch   int
		channel string
		log     string
	}{
		{"second epoch", 1, "train", "Stopped after 400 records. The model is of these."},
		{"the data that full Lloyd holds", 2, "train", "Stopped before _full_lloyd, which is left out."},
		{"the loss of the data", 3, "train", "full_lloyd.time"},
		{"the test channel", 0, "test", "train data_msd <loss>="},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var log bytes.Buffer
			job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Stdout: &log, Channels: map[string]*channel.Channel{
				"train": {Name: "train", Source: channel.Memory(rows.encode(t))},
				"test":  {Name: "test", Source: channel.Memory(rows.encode(t))},
			}}
			job.Channels[c.channel].Source = stopping{job.Channels[c.channel].Source, c.epoch, cancel}
			require.ErrorIs(t, kmeans.Train(ctx, job, p), algospec.ErrStopped)
			require.Contains(t, log.String(), c.log)
			require.Equal(t, 5, readModel(t, string(job.Model)).Centers.Rows)
		})
	}
}
