package platform_test

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

// A running job is used by many at once.
func TestManyMayUseARunningJob(t *testing.T) {
	for _, command := range []bool{false, true} {
		job := doing(t, 5, func(ctx context.Context, job *algospec.Job) error {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
			}
			return job.Model.Save(job.Host, strings.NewReader("x"))
		})
		if command {
			job.Trainer, job.Command = nil, []string{"sleep"}
			job.Arguments = []string{"0.02"}
		}
		job.Spot = true
		job.Checkpoints.S3URI = "s3://models/checkpoints"
		for range 10 {
			var mu sync.Mutex
			var told []platform.Transition
			job.Transition = func(tr platform.Transition) { mu.Lock(); told = append(told, tr); mu.Unlock() }
			running, err := platform.Start(t.Context(), job)
			require.NoError(t, err)
			var users sync.WaitGroup
			for range 8 {
				users.Go(func() {
					for range 20 {
						time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
						running.Progress()
						running.Interrupt()
					}
					if rand.IntN(3) > 0 {
						running.Stop()
					}
					running.Wait()
				})
			}
			users.Wait()
			result, err := running.Wait()
			if err != nil {
				require.ErrorIs(t, err, platform.ErrStopped)
			}
			require.Len(t, told, len(result.Transitions))
			for i, tr := range result.Transitions {
				require.Equal(t, told[i].Status, tr.Status)
				require.Equal(t, i == len(result.Transitions)-1, tr.Status.Terminal())
				if i > 0 {
					require.Equal(t, result.Transitions[i-1].End, tr.Start)
				}
				if tr.Status == platform.Stopping {
					require.Equal(t, i, len(result.Transitions)-2, "%v", statuses(result))
				}
			}
		}
	}
}

func TestAHundredHosts(t *testing.T) {
	for _, command := range []bool{false, true} {
		job := doing(t, 100, func(ctx context.Context, job *algospec.Job) error {
			return job.Model.Save(job.Host, strings.NewReader("x"))
		})
		job.Channels = []platform.Channel{{Name: "train", S3URI: "s3://data/train/"}, {Name: "file", S3URI: "s3://data/train/", InputMode: "File"}}
		if command {
			job.Trainer, job.Command = nil, []string{"true"}
		}
		began := time.Now()
		_, err := run(t, t.Context(), job)
		require.NoError(t, err)
		t.Log(time.Since(began))
	}
}

func TestATrainerThatIsLeftBehindIsInNobodysWay(t *testing.T) {
	ended := make(chan struct{}, 4)
	listening := map[string]*sync.WaitGroup{"1": {}, "2": {}} // by attempt
	for _, attempt := range listening {
		attempt.Add(2)
	}
	job := doing(t, 2, func(ctx context.Context, job *algospec.Job) error {
		defer func() { ended <- struct{}{} }()
		_, address, _ := strings.Cut(job.Getenv("ALGOSPEC_HOSTS"), job.Host+"=")
		address, _, _ = strings.Cut(address, ",")
		listener, err := net.Listen("tcp", address+":7532")
		if err != nil {
			return err
		}
		defer listener.Close()
		attempt := job.Getenv("ALGOSPEC_ATTEMPT")
		listening[attempt].Done()
		if attempt == "1" {
			<-ctx.Done()
			listening["2"].Wait() // which would be for ever if it could not listen
		}
		return job.Model.Save(job.Host, strings.NewReader("x"))
	})
	job.Spot, job.Unannounced = true, true
	running, err := platform.Start(t.Context(), job)
	require.NoError(t, err)
	listening["1"].Wait()
	running.Interrupt()
	result, err := running.Wait()
	require.NoError(t, err)
	require.Equal(t, 2, result.Attempts)
	for range 4 {
		<-ended
	}
	require.Eventually(t, func() bool { entries, err := os.ReadDir(job.Dir); return err == nil && len(entries) == 0 }, time.Minute, time.Millisecond)
}
