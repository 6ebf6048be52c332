package platform_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func TestMain(m *testing.M) {
	if os.Getenv("PLATFORM_TEST_CONTAINER") != "" {
		algospec.Main(container)
	}
	if url := os.Getenv("PLATFORM_TEST_PLATFORM"); url != "" {
		killable(url, os.Getenv("PLATFORM_TEST_DIR"))
	}
	leaks.Main(m)
}

type params struct {
	Mode   string `default:"read" enum:"read,killed,stop,panic,nothing,output,exit,script,peers,fails,steps"`
	Epochs int    `default:"1"`
	Script string `default:""`
	Host   string `default:""` // which one fails
}

// container is the algorithm of these tests, run in both ways: it saves a digest of its
// channels.
func container(ctx context.Context, job *algospec.Job, p params) error {
	switch p.Mode {
	case "script":
		return runScript(ctx, job, p.Script)
	case "peers":
		return meetPeers(ctx, job)
	case "fails":
		return failOn(ctx, job, p.Host)
	case "steps":
		return countSteps(ctx, job, p.Epochs)
	case "nothing":
		return nil
	case "panic":
		panic("at the disco")
	case "exit":
		os.Exit(7)
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stop":
		if err := job.Model.Save("partial", strings.NewReader("half a model")); err != nil {
			return err
		}
		job.Println("waiting=1;")
		<-ctx.Done()
		return context.Cause(ctx)
	case "output":
		if err := job.Output.Save("plots/loss.txt", strings.NewReader("a plot")); err != nil {
			return err
		}
	}
	for name, c := range job.Channels {
		all, size := sha256.New(), int64(0)
		for epoch, err := range c.Epochs(ctx, p.Epochs) {
			if err != nil {
				return err
			}
			n, err := io.Copy(all, epoch)
			if err != nil {
				return err
			}
			size += n
		}
		job.Println(fmt.Sprintf("%s bytes=%d;", name, size))
		if err := job.Model.Save(name, strings.NewReader(fmt.Sprintf("%x", all.Sum(nil)))); err != nil {
			return err
		}
	}
	return job.Model.Save("name", strings.NewReader(job.Name+" on "+job.Host+" "+job.Getenv("EXTRA")))
}

// digest returns what container saves of a channel that had so many epochs of these bytes.
func digest(epoch []byte, epochs int) string {
	return fmt.Sprintf("%x", sha256.Sum256(bytes.Repeat(epoch, epochs)))
}

// data is 3 MB that differ everywhere.
var data = func() (b []byte) {
	for i := 0; len(b) < 3<<20; i++ {
		b = append(strconv.AppendInt(b, int64(i), 10), ' ')
	}
	return b
}()

// newServer returns a server with data, in three objects, under train/ in bucket data.
func newServer(t testing.TB) *s3test.Server {
	t.Helper()
	server := s3test.New()
	t.Cleanup(func() { server.Close() })
	for i, part := range [][]byte{data[:1000], data[1000 : 2<<20], data[2<<20:]} {
		require.NoError(t, server.Put("data", fmt.Sprintf("train/part-%d", i), bytes.NewReader(part)))
	}
	require.NoError(t, server.Put("data", "test/part", strings.NewReader("test data")))
	require.NoError(t, server.CreateBucket("models"))
	return server
}

func newJob(t *testing.T, server *s3test.Server) platform.Job {
	return platform.Job{
		Name:       "job-1",
		Trainer:    algospec.Bind(container),
		Channels:   []platform.Channel{{Name: "train", S3URI: "s3://data/train/", ContentType: "text/plain"}},
		OutputPath: "s3://models/of/me",
		S3:         server.Client(),
		Dir:        t.TempDir(),
	}
}

// asCommand makes the job run as a process.
func asCommand(job platform.Job) platform.Job {
	job.Trainer = nil
	job.Command = []string{os.Args[0]}
	env := map[string]string{"PLATFORM_TEST_CONTAINER": "1", "GORACE": "atexit_sleep_ms=0"}
	for key, value := range job.Environment {
		env[key] = value
	}
	job.Environment = env
	return job
}

// bothWays runs a test with the algorithm as a goroutine and as a process.
func bothWays(t *testing.T, test func(t *testing.T, as func(platform.Job) platform.Job)) {
	t.Run("goroutine", func(t *testing.T) { test(t, func(job platform.Job) platform.Job { return job }) })
	t.Run("process", func(t *testing.T) { test(t, asCommand) })
}

// run runs the job and checks that it leaves nothing behind but what it stored.
func run(t *testing.T, ctx context.Context, job platform.Job) (*platform.Result, error) {
	t.Helper()
	before := descriptors(t)
	result, err := platform.Run(ctx, job)
	entries, dirErr := os.ReadDir(job.Dir) // which may be "."
	require.NoError(t, dirErr)
	require.Empty(t, entries, "the tree is removed")
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { return descriptors(t) <= before }, time.Minute, 10*time.Millisecond, "no descriptor is left")
	return result, err
}

// descriptors counts the open descriptors, without sockets, as those of idle connections come and go
// with the client, and without those of the Go runtime.
func descriptors(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // not Linux
	}
	for _, entry := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		if err == nil && !strings.HasPrefix(target, "socket:") && target != "anon_inode:[eventpoll]" && target != "anon_inode:[eventfd]" && target != "anon_inode:[pidfd]" {
			n++
		}
	}
	return n
}

// files unpacks an archive that a job stored.
func files(t *testing.T, client *s3.Client, uri string) map[string]string {
	t.Helper()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	object, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	require.NoError(t, err)
	defer object.Body.Close()
	text, err := gzip.NewReader(object.Body)
	require.NoError(t, err)
	archive := tar.NewReader(text)
	found := map[string]string{}
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return found
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		found[header.Name] = string(content)
	}
}

func TestAJobRunsToItsModel(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		server := newServer(t)
		job := newJob(t, server)
		job.Channels = append(job.Channels, platform.Channel{Name: "test", S3URI: "s3://data/te"})
		job.HyperParameters = hyperparams.Map{"mode": "output", "epochs": "2"}
		job.Environment = map[string]string{"EXTRA": "extra"}
		job.MetricDefinitions = []platform.MetricDefinition{{Name: "train:bytes", Regex: `train bytes=(\d+);`}, {Name: "never", Regex: `never=(\d+)`}}
		var log bytes.Buffer
		job.Log = &log
		var reports []platform.Progress
		job.Progress = func(p platform.Progress) { reports = append(reports, p) }

		result, err := run(t, t.Context(), as(job))
		require.NoError(t, err)
		require.Equal(t, "s3://models/of/me/job-1/output/model.tar.gz", result.ModelArtifacts)
		require.Equal(t, map[string]string{
			"train": digest(data, 2), "test": digest([]byte("test data"), 2), "name": "job-1 on algo-1 extra",
		}, files(t, server.Client(), result.ModelArtifacts))
		require.Equal(t, "s3://models/of/me/job-1/output/output.tar.gz", result.Output)
		require.Equal(t, map[string]string{"plots/": "", "plots/loss.txt": "a plot"}, files(t, server.Client(), result.Output))
		require.Equal(t, map[string]float64{"train:bytes": float64(2 * len(data))}, result.Metrics)
		require.Contains(t, log.String(), fmt.Sprintf("train bytes=%d;\n", 2*len(data)))
		require.NotEmpty(t, reports)
		require.Equal(t, result.Channels, reports[len(reports)-1].Channels)
		train := result.Channels[0]
		require.Equal(t, "train", train.Name)
		require.Equal(t, 1, train.Epoch)
		require.Equal(t, int64(2*len(data)), train.Bytes)
		require.Equal(t, int64(len(data)), train.EpochBytes)
		require.Positive(t, train.FirstByte)
	})
}

func TestAFailedJobSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*platform.Job)
		process string // the reason, as a process
		trainer string // the reason, as a goroutine; "" where it cannot be
	}{
		{"bad hyperparameters", func(j *platform.Job) { j.HyperParameters = hyperparams.Map{"epochs": "many", "mood": "good"} },
			`ClientError: hyperparameter epochs: "many": not an integer`, "same"},
		{"no model", func(j *platform.Job) { j.HyperParameters = hyperparams.Map{"mode": "nothing"} },
			"AlgorithmError: the training ended and left the model directory empty: nothing was saved with job.Model.Save, exit code: 1", "same"},
		{"panic", func(j *platform.Job) { j.HyperParameters = hyperparams.Map{"mode": "panic"} },
			"AlgorithmError: panic: at the disco, in github.com/algospec/algospec/platform_test.container (", "same"},
		{"killed", func(j *platform.Job) { j.HyperParameters = hyperparams.Map{"mode": "killed"} },
			"AlgorithmError: the process ended abruptly, exit code: 137", ""},
		{"another exit status", func(j *platform.Job) { j.HyperParameters = hyperparams.Map{"mode": "exit"} },
			"AlgorithmError: the process ended abruptly, exit code: 7", ""},
	} {
		bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
			t.Run(c.name, func(t *testing.T) {
				job := as(newJob(t, newServer(t)))
				want := c.process
				if job.Trainer != nil && c.trainer == "" {
					return
				}
				c.change(&job)
				result, err := run(t, t.Context(), job)
				failed, ok := errors.AsType[*platform.FailedError](err)
				require.True(t, ok, "%v", err)
				require.Contains(t, failed.Reason, want)
				require.Empty(t, result.ModelArtifacts)
			})
		})
	}
}

func TestAJobThatCannotStartIsRefused(t *testing.T) {
	server := newServer(t)
	for want, change := range map[string]func(*platform.Job){
		`job name "a_b"`: func(j *platform.Job) { j.Name = "a_b" },
		`channel ../x: name "../x": want 1 to 64 letters`: func(j *platform.Job) { j.Channels[0].Name = "../x" },
		"channel train: twice":                            func(j *platform.Job) { j.Channels = append(j.Channels, j.Channels[0]) },
		"at most 20":                                      func(j *platform.Job) { j.Channels = make([]platform.Channel, 21) },
		`channel train: "/tmp/x": not of the form s3://bucket/prefix`: func(j *platform.Job) { j.Channels[0].S3URI = "/tmp/x" },
		`output path "": not of the form s3://bucket/prefix`:          func(j *platform.Job) { j.OutputPath = "" },
		`exec: "./no-such-program"`:                                   func(j *platform.Job) { j.Trainer, j.Command = nil, []string{"./no-such-program"} },
		"want one of Command, Image and Trainer":                      func(j *platform.Job) { j.Command = []string{"x"} },
		"no S3 client":                                                func(j *platform.Job) { j.S3 = nil },
		`metric m: no group for the value in "x"`:                     func(j *platform.Job) { j.MetricDefinitions = []platform.MetricDefinition{{Name: "m", Regex: "x"}} },
		"metric m: \"(?=x)\": look-around":                            func(j *platform.Job) { j.MetricDefinitions = []platform.MetricDefinition{{Name: "m", Regex: "(?=x)"}} },
		`No S3 objects found under S3 URL "s3://data/none"`:           func(j *platform.Job) { j.Channels[0].S3URI = "s3://data/none" },
	} {
		t.Run(want, func(t *testing.T) {
			job := newJob(t, server)
			change(&job)
			result, err := run(t, t.Context(), job)
			require.ErrorContains(t, err, want)
			require.Nil(t, result)
		})
	}
}

func TestAStoppedJobKeepsItsModel(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		server := newServer(t)
		job := newJob(t, server)
		job.HyperParameters = hyperparams.Map{"mode": "stop"}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		why := errors.New("enough")
		job.Log = onText("waiting", func() { cancel(why) })
		result, err := run(t, ctx, as(job))
		require.ErrorIs(t, err, platform.ErrStopped)
		require.ErrorIs(t, err, why)
		require.Zero(t, result.ExitCode)
		require.Equal(t, map[string]string{"partial": "half a model"}, files(t, server.Client(), result.ModelArtifacts))
	})
}

func TestAProcessThatIgnoresTheStopIsKilled(t *testing.T) {
	job := newJob(t, newServer(t))
	job.Trainer = nil // nor a container of this library, which would end by itself just before
	job.Command = []string{"sh", "-c", `trap "" TERM; echo half > "$SAGEMAKER_BASE_DIR/model/partial"; echo waiting; while :; do sleep 0.01; done`}
	job.Grace = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	job.Log = onText("waiting", cancel)
	result, err := run(t, ctx, job)
	require.ErrorIs(t, err, platform.ErrStopped)
	require.Equal(t, 137, result.ExitCode)
	require.NotEmpty(t, result.ModelArtifacts, "what was saved before is kept")
}

// onText returns a writer that calls f when it sees the text.
func onText(text string, f func()) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte(text)) {
			f()
		}
		return len(b), nil
	})
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// What S3 does on bad days must fail the job, and must never look like the end of the data.
func TestDataThatCannotBeDeliveredFailTheJob(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(server *s3test.Server) func(*http.Request) *s3test.Fault
		want  string
	}{
		{"object vanished", func(*s3test.Server) func(*http.Request) *s3test.Fault {
			return onGet("train/part-2", s3test.Fault{Status: 404, Code: "NoSuchKey"})
		}, "ClientError: channel train, epoch 0: Data download failed: s3://data/train/part-2 at byte 0: "},
		{"object cut", func(*s3test.Server) func(*http.Request) *s3test.Fault {
			return onGet("train/part-1", s3test.Fault{Cut: true, At: 0})
		}, "InternalServerError: channel train, epoch 0: Data download failed: s3://data/train/part-1 at byte "},
		{"object replaced", func(server *s3test.Server) func(*http.Request) *s3test.Fault {
			var once sync.Once
			return func(r *http.Request) *s3test.Fault {
				if isGet(r, "train/part-2") { // before it is served
					once.Do(func() { server.Put("data", "train/part-2", strings.NewReader("other")) })
				}
				return nil
			}
		}, "ClientError: channel train, epoch 0: Data download failed: s3://data/train/part-2 at byte 0: the object changed after it was listed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				server := newServer(t)
				server.SetFault(c.fault(server))
				job := newJob(t, server)
				job.Stream = s3stream.Options{ReadAhead: 1 << 20, Tries: 2, MaxBackoff: time.Millisecond}
				var log bytes.Buffer
				job.Log = &log
				result, err := run(t, t.Context(), as(job))
				failed, ok := errors.AsType[*platform.FailedError](err)
				require.True(t, ok, "%v", err)
				require.Contains(t, failed.Reason, c.want)
				require.Empty(t, result.ModelArtifacts)
				require.NotContains(t, log.String(), "bytes=", "the reader never saw an end")
			})
		})
	}
}

func isGet(r *http.Request, key string) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+key)
}

func onGet(key string, fault s3test.Fault) func(*http.Request) *s3test.Fault {
	return func(r *http.Request) *s3test.Fault {
		if isGet(r, key) {
			return &fault
		}
		return nil
	}
}
