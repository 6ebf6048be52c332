package platform_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// These are the rows of the container contract, 11.2, that concern pipes. P9 to P12 are the matter of
// package s3stream and of channel.Gzip.

// scripted makes the job run a script.
func scripted(job platform.Job, words string) platform.Job {
	job.HyperParameters = hyperparams.Map{"mode": "script", "script": words}
	return job
}

// A stage is where a script is played: what it printed of its epochs, and how far its job's first
// channel was, unless there is no platform.
type stage func(t *testing.T, server *s3test.Server, prefix, words string) ([]string, *platform.ChannelProgress)

// everyWay runs a test with the algorithm as a goroutine and as a process, over pipes, and with the
// objects as its Source, without any.
func everyWay(t *testing.T, test func(t *testing.T, play stage)) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		test(t, func(t *testing.T, server *s3test.Server, prefix, words string) ([]string, *platform.ChannelProgress) {
			job := scripted(newJob(t, server), words)
			job.Channels[0].S3URI = prefix
			var log bytes.Buffer
			job.Log = &log
			result, err := run(t, t.Context(), as(job))
			require.NoError(t, err, log.String())
			return lines(&log), &result.Channels[0]
		})
	})
	t.Run("without pipes", func(t *testing.T) {
		test(t, func(t *testing.T, server *s3test.Server, prefix, words string) ([]string, *platform.ChannelProgress) {
			objects, err := s3stream.List(t.Context(), server.Client(), prefix)
			require.NoError(t, err)
			var log bytes.Buffer
			job := &algospec.Job{
				Channels: map[string]*channel.Channel{"train": {
					Name: "train", Source: s3stream.NewSource(server.Client(), objects, s3stream.Options{}),
				}},
				Model: algospec.Dir(t.TempDir()), Stdout: &log,
			}
			require.NoError(t, runScript(t.Context(), job, words))
			return lines(&log), nil
		})
	})
}

const (
	whole = " train.open train.rest train.close "
	train = "s3://data/train/"
)

func TestP1FullReadThreeEpochs(t *testing.T) {
	everyWay(t, func(t *testing.T, play stage) {
		got, progress := play(t, newServer(t), train, whole+whole+whole)
		require.Equal(t, []string{
			came("train", 0, data, atTheEnd), came("train", 1, data, atTheEnd), came("train", 2, data, atTheEnd),
		}, got)
		if progress != nil {
			require.Equal(t, int64(3*len(data)), progress.Bytes)
			require.Equal(t, 2, progress.Epoch)
			require.Equal(t, 3, progress.Opens)
			require.Zero(t, progress.Abandoned)
			require.Empty(t, progress.Problem)
			require.Positive(t, progress.Unopened)
			require.Positive(t, progress.Starved)
			require.Positive(t, progress.Blocked)
		}
	})
}

func TestP2EarlyClose(t *testing.T) {
	everyWay(t, func(t *testing.T, play stage) {
		var words string
		var want []string
		// Before the first byte, amid a record and a write, before the last byte, and after it unseen.
		for i, n := range []int{0, 1_000_003, len(data) - 1, len(data)} {
			words += fmt.Sprintf("train.open train.read=%d train.close", n) + whole
			want = append(want, came("train", 2*i, data[:n], ""), came("train", 2*i+1, data, atTheEnd))
		}
		got, progress := play(t, newServer(t), train, words)
		require.Equal(t, want, got)
		if progress != nil {
			taken := int64(1_000_003 + 6*len(data))
			require.Contains(t, []int64{taken - 1, taken}, progress.Bytes) // the last byte may have been in the pipe
			require.GreaterOrEqual(t, progress.Abandoned, 2)
			require.LessOrEqual(t, progress.Abandoned, 4) // with those that were closed at their last byte
		}
	})
}

func TestP3EmptyEpoch(t *testing.T) {
	everyWay(t, func(t *testing.T, play stage) {
		server := newServer(t)
		for _, key := range []string{"empty/a", "empty/b"} {
			require.NoError(t, server.Put("data", key, strings.NewReader("")))
		}
		got, progress := play(t, server, "s3://data/empty/", whole+"train.open train.close"+whole)
		require.Equal(t, []string{
			came("train", 0, nil, atTheEnd), came("train", 1, nil, ""), came("train", 2, nil, atTheEnd),
		}, got)
		if progress != nil {
			require.Zero(t, progress.Bytes)
			require.Zero(t, progress.FirstByte)
			require.Equal(t, 2, progress.Epoch)
		}
	})
}

// policies are all there are.
func policies() map[string]platform.LookAhead {
	return map[string]platform.LookAhead{
		"eager":   platform.Eager(),
		"late":    platform.Late(),
		"delayed": platform.Delayed(30*time.Millisecond, rand.New(rand.NewPCG(1, 2))),
		"ahead":   platform.Ahead(),
	}
}

func TestP4LookAheadPolicies(t *testing.T) {
	scripts := map[string]string{
		"eager": "train.absent=1 train.open train.read=100 train.await=1 train.absent=2 train.rest train.absent=0 train.close" +
			" train.open train.close train.open train.await=3 train.absent=4 train.rest train.close",
		"late": "train.absent=1 train.open train.read=100 train.absent=1 train.rest train.absent=0 train.close" +
			" train.open train.close train.await=2 train.open train.read=100 train.absent=3 train.rest train.close",
		"ahead": "train.exists=1 train.absent=2 train.open train.read=100 train.absent=2 train.rest train.absent=0 train.close train.await=2" +
			" train.open train.close train.open train.rest train.close",
	}
	scripts["delayed"] = scripts["late"]
	for name, policy := range policies() {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				job := scripted(newJob(t, newServer(t)), scripts[name])
				job.LookAhead = policy
				var log bytes.Buffer
				job.Log = &log
				result, err := run(t, t.Context(), as(job))
				require.NoError(t, err, log.String())
				require.Equal(t, []string{
					came("train", 0, data, atTheEnd), came("train", 1, nil, ""), came("train", 2, data, atTheEnd),
				}, lines(&log))
				require.Equal(t, 3, result.Channels[0].Opens)
			})
		})
	}
	// Where the next pipe can be opened while the one before it is being read, it gets nothing.
	t.Run("no two epochs at a time", func(t *testing.T) {
		bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
			server := newServer(t)
			var epochs atomic.Int64
			server.SetFault(func(r *http.Request) *s3test.Fault {
				if isGet(r, "train/part-0") {
					epochs.Add(1)
				}
				return nil
			})
			job := scripted(newJob(t, server), "train.open train.read=100 train.await=1 train.grab=1 train.read=1000000 train.dry=1"+
				" say-asking train.read=1 train.dry=1 train.rest train.close train.drain=1")
			var log bytes.Buffer
			var during int64
			job.Log = watch(&log, "asking", func() { during = epochs.Load() })
			_, err := run(t, t.Context(), as(job))
			require.NoError(t, err, log.String())
			require.Equal(t, []string{came("train", 0, data, atTheEnd), came("train", 1, data, atTheEnd)}, lines(&log))
			require.EqualValues(t, 1, during, "epochs that were begun while the first was read")
			require.EqualValues(t, 2, epochs.Load())
		})
	})
}

// watch returns a writer to log that calls f when it sees the text.
func watch(log *bytes.Buffer, text string, f func()) writerFunc {
	seen := onText(text, f)
	return func(b []byte) (int, error) {
		seen.Write(b)
		return log.Write(b)
	}
}

func TestP5ReaderFirstOrWriterFirst(t *testing.T) {
	// The data of an epoch wait until this is said.
	const opened = " say-opened "
	for _, c := range []struct {
		name, words string
		policy      platform.LookAhead
		epochs      int
	}{
		{"the writer waits for the reader, and the reader for data",
			"train.open" + opened + "train.rest train.close" +
				" train.await=1 train.open" + opened + "train.rest train.close" +
				" train.await=2 train.grab=2 train.dry=2" + opened + "train.drain=2" + // a blocking open, as most programs do it
				" train.await=3 train.grab=3" + opened + "train.wet=3 train.drain=3",
			platform.Eager(), 4},
		{"the reader looks for the pipe before it is there",
			opened + whole + opened + whole + opened + whole, platform.Delayed(30*time.Millisecond, rand.New(rand.NewPCG(3, 4))), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				server := newServer(t)
				said := make(chan struct{}, c.epochs)
				server.SetFault(func(r *http.Request) *s3test.Fault {
					if isGet(r, "train/part-0") {
						<-said
					}
					return nil
				})
				job := scripted(newJob(t, server), c.words)
				job.LookAhead = c.policy
				var log bytes.Buffer
				job.Log = watch(&log, "opened", func() { said <- struct{}{} })
				_, err := run(t, t.Context(), as(job))
				require.NoError(t, err, log.String())
				var want []string
				for epoch := range c.epochs {
					want = append(want, came("train", epoch, data, atTheEnd))
				}
				require.Equal(t, want, lines(&log))
			})
		})
	}
}

func TestP6NeverOpenedChannel(t *testing.T) {
	test := func(t *testing.T, policy platform.LookAhead, as func(platform.Job) platform.Job) {
		server := newServer(t)
		var lists, gets atomic.Int64
		server.SetFault(func(r *http.Request) *s3test.Fault {
			switch {
			case r.URL.Query().Get("prefix") == "te":
				lists.Add(1)
			case strings.Contains(r.URL.Path, "/test/"):
				gets.Add(1)
			}
			return nil
		})
		job := scripted(newJob(t, server), whole)
		job.LookAhead = policy
		job.Channels = append(job.Channels, platform.Channel{Name: "test", S3URI: "s3://data/te"})
		result, err := run(t, t.Context(), as(job))
		require.NoError(t, err)
		require.Zero(t, result.ExitCode)
		require.EqualValues(t, 1, lists.Load())
		require.Zero(t, gets.Load())
		test := result.Channels[1]
		require.Positive(t, test.Unopened)
		test.Unopened = 0
		require.Equal(t, platform.ChannelProgress{Host: "algo-1", Name: "test", Epoch: -1, EpochBytes: int64(len("test data"))}, test)
	}
	for name, policy := range policies() {
		t.Run(name, func(t *testing.T) { test(t, policy, func(job platform.Job) platform.Job { return job }) })
	}
	t.Run("process", func(t *testing.T) { test(t, platform.Eager(), asCommand) })
}

func TestP7TwoChannelsReadAlternatelyWithTinyPipeBuffers(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		server := newServer(t)
		small := make(chan struct{}) // before there are data, which might not fit any more
		server.SetFault(func(r *http.Request) *s3test.Fault {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/train/") {
				<-small
			}
			return nil
		})
		job := scripted(newJob(t, server), "train.open-small twin.open-small say-small train.alternate=10000 train.close twin.close")
		job.Channels = append(job.Channels, platform.Channel{Name: "twin", S3URI: train})
		var log bytes.Buffer
		job.Log = watch(&log, "small", func() { close(small) })
		_, err := run(t, t.Context(), as(job))
		require.NoError(t, err, log.String())
		require.Equal(t, []string{came("train", 0, data, atTheEnd), came("twin", 0, data, atTheEnd)}, lines(&log))
	})
}

func TestP8SkippedEpochIsDiagnosed(t *testing.T) {
	for _, c := range []struct {
		name, words string
		policy      platform.LookAhead
		want        string
	}{
		{"never opened", "train.grab=1 signal train.dry=1" + whole + "train.drain=1", platform.Ahead(),
			"channel train: epoch 1 was opened but epoch 0 never was: no data flow until it is (container contract 2.2)"},
		{"opened and forgotten", "train.open train.await=1 train.grab=1 signal train.dry=1 train.rest train.close train.drain=1", platform.Eager(),
			"channel train: epoch 1 was opened but epoch 0 is neither read nor closed: no data flow until it is (container contract 2.2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				signal := filepath.Join(t.TempDir(), "signal")
				job := scripted(newJob(t, newServer(t)), c.words)
				job.Environment = map[string]string{"SIGNAL": signal}
				job.LookAhead = c.policy
				job.Stall = 20 * time.Millisecond
				var log, warnings bytes.Buffer
				job.Log = &log
				job.Logger = slog.New(slog.NewTextHandler(&warnings, nil))
				var once sync.Once
				job.Progress = func(p platform.Progress) {
					if len(p.Channels) > 0 && p.Channels[0].Problem == c.want {
						once.Do(func() { os.WriteFile(signal, nil, 0o644) })
					}
				}
				_, err := run(t, t.Context(), as(job))
				require.NoError(t, err, log.String())
				require.Equal(t, []string{came("train", 0, data, atTheEnd), came("train", 1, data, atTheEnd)}, lines(&log))
				said := fmt.Sprintf("level=WARN msg=%q\n", c.want)
				require.Equal(t, 1, strings.Count(warnings.String(), said), warnings.String())
			})
		})
	}
	// What waits in order is no problem.
	t.Run("only slow", func(t *testing.T) {
		job := scripted(newJob(t, newServer(t)), "train.open train.read=1 train.await=1 say-resting train.rest train.close"+whole)
		job.Stall = time.Millisecond
		job.Log = onText("resting", func() { time.Sleep(20 * time.Millisecond) })
		var warnings bytes.Buffer
		job.Logger = slog.New(slog.NewTextHandler(&warnings, nil))
		_, err := run(t, t.Context(), job)
		require.NoError(t, err)
		require.Empty(t, warnings.String())
	})
}

func TestP13CancellationWhileWaiting(t *testing.T) {
	for _, c := range []struct {
		name, words string
		policy      platform.LookAhead
	}{
		{"for the file", "say-waiting train.sdk=1", platform.Eager()},
		{"for the file, after an epoch", whole + "say-waiting train.open", platform.Delayed(time.Hour, nil)},
		{"for the writer", "say-waiting train.sdk=1", platform.Ahead()},
		{"for data", "train.open train.read=1000 say-waiting train.rest", platform.Eager()},
		{"the writer for its reader to read", "train.open say-waiting wait", platform.Eager()},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				server := newServer(t)
				if c.name == "for data" {
					server.SetFault(onGet("train/part-1", s3test.Fault{Stall: true}))
				}
				job := scripted(newJob(t, server), c.words)
				job.LookAhead = c.policy
				job.Grace = time.Minute // with the race detector a process takes its time
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var log bytes.Buffer
				job.Log = watch(&log, "waiting", cancel)
				result, err := run(t, ctx, as(job))
				require.ErrorIs(t, err, platform.ErrStopped, log.String())
				require.Zero(t, result.ExitCode, "it was not killed: %s", log.String())
			})
		})
	}
}

func TestP14NoGoroutineOrDescriptorLeaks(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		ignore := goleak.IgnoreCurrent()
		descriptorsBefore := descriptors(t)
		t.Cleanup(func() { // when the server is closed
			http.DefaultClient.CloseIdleConnections()
			require.NoError(t, leaks.Find(ignore))
			require.LessOrEqual(t, descriptors(t), descriptorsBefore)
		})
		server := newServer(t)
		for _, c := range []struct {
			name, words string
			policy      platform.LookAhead
		}{
			{"never opened", "", platform.Late()},
			{"never opened, one ahead", "", platform.Ahead()},
			{"read whole", whole, platform.Eager()},
			{"ended in a delay", whole, platform.Delayed(time.Hour, nil)},
			{"neither read nor closed", "train.open", platform.Late()},
			{"closed early", "train.open train.read=9 train.close", platform.Eager()},
			{"ended in the midst of the second epoch", whole + "train.open train.read=9", platform.Late()},
			{"opened out of turn", "train.grab=1", platform.Ahead()},
			{"failed", "train.open train.read=9 no-such-word", platform.Eager()},
		} {
			job := scripted(newJob(t, server), c.words)
			job.LookAhead = c.policy
			_, err := run(t, t.Context(), as(job))
			require.Equal(t, c.name == "failed", err != nil, "%s: %v", c.name, err)
		}
	})
}
