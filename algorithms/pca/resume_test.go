package pca_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/internal/fleet"
)

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
		HyperParameters: map[string]string{"feature_dim": "20", "num_components": "4", "mini_batch_size": "37"},
		Checkpoints:     t.TempDir(),
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
	return modelBytes(t, hosts[0]), logs
}

func modelBytes(t *testing.T, h *fleet.Host) []byte {
	t.Helper()
	model, err := os.ReadFile(filepath.Join(h.Base, "model", pca.ModelFile))
	require.NoError(t, err)
	return model
}

// newest returns the steps of the newest whole snapshots, by host.
func newest(t *testing.T, job fleet.Job) []int64 {
	t.Helper()
	steps := make([]int64, len(job.Shards))
	for i := range steps {
		store := checkpoint.NewStore(job.Checkpoints, checkpoint.Options{
			Host: "algo-" + strconv.Itoa(i+1), HyperParameters: job.HyperParameters,
		})
		latest, err := store.Latest(t.Context())
		if err != checkpoint.ErrNone {
			require.NoError(t, err)
		}
		steps[i] = latest.Step
		require.NoError(t, store.Close())
	}
	return steps
}

var goingOn = regexp.MustCompile(`Going on after (\d+) records, from the snapshot of step (\d+)\.`)

// requireGoesOn checks that a host went on from the step, 0 being the beginning.
func requireGoesOn(t *testing.T, step int64, log string) {
	t.Helper()
	if step == 0 {
		require.NotRegexp(t, goingOn, log)
		return
	}
	found := goingOn.FindStringSubmatch(log)
	require.NotNil(t, found, "%s", log)
	require.Equal(t, strconv.FormatInt(step, 10), found[2])
}

// killed starts the job and kills all its hosts after so long. It reports whether they were at their end before.
func killed(t *testing.T, job fleet.Job, after time.Duration) (hosts []*fleet.Host, ended bool) {
	t.Helper()
	hosts = fleet.Start(t, job)
	time.Sleep(after) // the instant is the point
	for _, h := range hosts {
		h.Cmd.Process.Signal(syscall.SIGKILL)
	}
	ended = true
	for _, h := range hosts {
		ended = h.Wait() == 0 && ended
	}
	return hosts, ended
}

func TestAJobThatIsKilledAtAnyInstantLearnsTheSameModel(t *testing.T) {
	rows := random(30000, 20, 21)
	for name, c := range map[string]struct {
		shards []table
		kills  int
	}{
		"one host":    {[]table{rows}, soak(t, 20)},
		"three hosts": {[]table{rows[:100], rows[100:20000], rows[20000:]}, soak(t, 20) / 5},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			job := resumable(t, c.shards...)
			began := time.Now()
			want, logs := complete(t, job)
			took := time.Since(began)
			job.Checkpoints, began = t.TempDir(), time.Now()
			complete(t, job)
			took = min(took, time.Since(began)) // the first may have met a busy machine
			require.NotRegexp(t, goingOn, logs[0])

			resumed := 0
			for kills := 0; kills < c.kills || resumed == 0; {
				job.Checkpoints = t.TempDir()
				before := newest(t, job)
				for {
					hosts, ended := killed(t, job, time.Duration(random.Float64()*1.05*float64(took)))
					if ended {
						require.Equal(t, want, modelBytes(t, hosts[0]))
						break
					}
					kills++
					after := newest(t, job)
					for i, h := range hosts {
						require.GreaterOrEqual(t, after[i], before[i], "a snapshot was lost")
						if goingOn.MatchString(h.Log()) {
							requireGoesOn(t, before[i], h.Log())
							resumed++
						}
					}
					before = after
					if random.IntN(3) > 0 { // the others are killed again
						continue
					}
					model, logs := complete(t, job)
					require.Equal(t, want, model)
					for i, log := range logs {
						requireGoesOn(t, before[i], log)
						resumed += min(1, int(before[i]))
					}
					break
				}
			}
			t.Logf("%d kills, %d times a host went on; an uninterrupted run takes %v", c.kills, resumed, took)
		})
	}
}
