package kmeans_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/fleet"
)

// A breaking Source breaks at a byte of all its epochs' streams.
type breaking struct {
	channel.Source
	at, size int64
}

var errBroken = errors.New("the line is broken")

func (b breaking) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	src, err := b.Source.Open(ctx, epoch)
	at := b.at - int64(epoch)*b.size
	if err != nil || at >= b.size {
		return src, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(src, at), brokenReader{}), src}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

var goingOn = regexp.MustCompile(`Going on after (\d+) records, from the snapshot of step (\d+)\.`)

// learn runs a training in this process that saves snapshots without a pause, and returns the model's bytes.
func learn(t *testing.T, dir string, src channel.Source, p kmeans.Params) (model []byte, log string, err error) {
	t.Helper()
	var out bytes.Buffer
	job := &algospec.Job{
		Model: algospec.Dir(t.TempDir()), CheckpointDir: algospec.Dir(dir), Stdout: &out,
		Channels: map[string]*channel.Channel{"train": {Name: "train", Source: src}},
		Env:      func(string) string { return "1ns" },
	}
	if err := kmeans.Train(t.Context(), job, p); err != nil {
		return nil, out.String(), err
	}
	return modelBytes(t, string(job.Model)), out.String(), nil
}

// Three epochs, which break anywhere and again further on: the model is the same, to the bit.
func TestATrainingThatBreaksAnywhereGoesOnToTheSameModel(t *testing.T) {
	rows := blobs(1000, 6, 5, 41)
	data := rows.encode(t)
	size := int64(len(data))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	for i, part := range []table{rows[:300], rows[300:]} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(rune('a'+i))), part.encode(t), 0o644))
	}
	p := params(t, 6, 5, hyperparams.Map{"mini_batch_size": "90", "epochs": "3", "half_life_time_size": "500"})
	want, log, err := learn(t, "", channel.Memory(data), p)
	require.NoError(t, err)
	require.NotRegexp(t, goingOn, log)
	for name, src := range map[string]channel.Source{
		"memory":               channel.Memory(data),
		"files, which seek":    channel.Files{Dir: dir},
		"a stream, read again": channel.ReadAhead(channel.Memory(data), 0),
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				snapshots := t.TempDir()
				for at := r.Int64N(size); at < 3*size; at += r.Int64N(2 * size) {
					_, _, err := learn(t, snapshots, breaking{src, at, size}, p)
					require.ErrorIs(t, err, errBroken)
				}
				model, _, err := learn(t, snapshots, src, p)
				require.NoError(t, err)
				require.Equal(t, want, model)
				// And once more from the last snapshot, which may be at the end.
				model, log, err := learn(t, snapshots, src, p)
				require.NoError(t, err)
				require.Equal(t, want, model)
				require.Regexp(t, goingOn, log)
				require.Contains(t, log, `"Total Records Seen": {"sum": 3000,`)
				require.Contains(t, log, "completed 100.0 % of epochs")
			}
		})
	}
}

// The seed that nobody chose is part of the snapshot.
func TestASeedOfItsOwnIsKept(t *testing.T) {
	data := blobs(300, 6, 5, 42).encode(t)
	p := params(t, 6, 5, hyperparams.Map{"mini_batch_size": "90", "_seed": "auto"})
	dir := t.TempDir()
	_, log, err := learn(t, dir, breaking{channel.Memory(data), int64(len(data)) - 1, int64(len(data))}, p)
	require.ErrorIs(t, err, errBroken)
	seed := regexp.MustCompile(`'_seed' was set to 'auto', evaluated to (\d+)\.`).FindStringSubmatch(log)
	require.NotNil(t, seed)
	got, _, err := learn(t, dir, channel.Memory(data), p)
	require.NoError(t, err)
	want, _, err := learn(t, "", channel.Memory(data), params(t, 6, 5, hyperparams.Map{"mini_batch_size": "90", "_seed": seed[1]}))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestASnapshotOfOtherFeaturesIsOneClearError(t *testing.T) {
	data := blobs(300, 6, 5, 43).encode(t)
	dir := t.TempDir()
	_, _, err := learn(t, dir, channel.Memory(data), params(t, 6, 5, nil))
	require.NoError(t, err)
	_, _, err = learn(t, dir, channel.Memory(data), params(t, 7, 5, nil))
	require.EqualError(t, err, "hyperparameter feature_dim: 7, where the snapshot that the job goes on from has 6")
	require.True(t, algospec.IsClientError(err))
}

// soak returns how often a test kills: ALGOSPEC_SOAK, or a few times.
func soak(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("ALGOSPEC_SOAK")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// resumable returns a job whose processes save snapshots without a pause.
func resumable(t *testing.T, shards ...table) fleet.Job {
	t.Helper()
	job := fleet.Job{
		HyperParameters: map[string]string{"feature_dim": "8", "k": "5", "mini_batch_size": "100", "epochs": "2", "_seed": "5", "local_lloyd_num_trials": "2"},
		Env:             []string{"ALGOSPEC_CHECKPOINT_EVERY=1ns"},
	}
	for _, rows := range shards {
		job.Shards = append(job.Shards, map[string][]byte{"train": rows.encode(t)})
	}
	return job
}

// complete runs the job to its end and returns the model's bytes and the logs.
func complete(t *testing.T, job fleet.Job) (model []byte, logs []string) {
	t.Helper()
	hosts := fleet.Start(t, job)
	for _, h := range hosts {
		require.Zero(t, h.Wait(), "%s: %s", h.Failure(t), h.Log())
		logs = append(logs, h.Log())
	}
	return modelBytes(t, filepath.Join(hosts[0].Base, "model")), logs
}

func TestAJobThatIsKilledAtAnyInstantLearnsTheSameModel(t *testing.T) {
	rows := blobs(9000, 8, 6, 21)
	for name, c := range map[string]struct {
		shards []table
		kills  int
	}{
		"one host":    {[]table{rows}, soak(t, 10)},
		"three hosts": {[]table{rows[:100], rows[100:6000], rows[6000:]}, max(2, soak(t, 10)/5)},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			job := resumable(t, c.shards...)
			job.Checkpoints = t.TempDir()
			began := time.Now()
			want, logs := complete(t, job)
			took := time.Since(began)
			require.NotRegexp(t, goingOn, logs[0])

			resumed := 0
			for kills := 0; kills < c.kills || resumed == 0; {
				job.Checkpoints = t.TempDir()
				for {
					hosts := fleet.Start(t, job)
					time.Sleep(time.Duration(random.Float64() * 1.05 * float64(took))) // the instant is the point
					for _, h := range hosts {
						h.Cmd.Process.Signal(syscall.SIGKILL)
					}
					ended := true
					for _, h := range hosts {
						ended = h.Wait() == 0 && ended
						if goingOn.MatchString(h.Log()) {
							resumed++
						}
					}
					if ended {
						require.Equal(t, want, modelBytes(t, filepath.Join(hosts[0].Base, "model")))
						break
					}
					kills++
					if random.IntN(3) > 0 { // the others are killed again
						continue
					}
					model, logs := complete(t, job)
					require.Equal(t, want, model)
					if goingOn.MatchString(logs[0]) {
						resumed++
					}
					break
				}
			}
			t.Logf("%d kills, %d times a host went on; an uninterrupted run takes %v", c.kills, resumed, took)
		})
	}
}
