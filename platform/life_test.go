package platform_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3test"
)

// countSteps goes from the step of its checkpoint to the last, and waits at each for the file $GO/N.
// It leaves a stray process behind where $STRAY is set.
func countSteps(ctx context.Context, job *algospec.Job, last int) error {
	if job.Getenv("STRAY") != "" {
		if err := leaveStray(); err != nil {
			return err
		}
	}
	checkpoint := filepath.Join(job.Getenv("SAGEMAKER_BASE_DIR"), "checkpoints/step-"+job.Host)
	step := 0
	if text, err := os.ReadFile(checkpoint); err == nil {
		step, _ = strconv.Atoi(string(text))
	}
	job.Println(fmt.Sprintf("from step=%d;", step))
	for ; step < last; step++ {
		if err := until(ctx, func() bool { return exists(filepath.Join(job.Getenv("GO"), strconv.Itoa(step))) }); err != nil {
			return err
		}
		if err := os.WriteFile(checkpoint+".sagemaker-ignore", []byte(strconv.Itoa(step+1)), 0o644); err != nil {
			return err
		}
		if err := os.Rename(checkpoint+".sagemaker-ignore", checkpoint); err != nil {
			return err
		}
		job.Println(fmt.Sprintf("step=%d;", step+1))
	}
	return job.Model.Save("steps", strings.NewReader(fmt.Sprint(step)))
}

// A stepper is a job that goes on when it is told to.
type stepper struct {
	job    platform.Job
	server *s3test.Server
	dir    string

	mu       sync.Mutex
	log      bytes.Buffer
	statuses []platform.SecondaryStatus
}

func newStepper(t *testing.T, as func(platform.Job) platform.Job, last int) *stepper {
	s := &stepper{server: newServer(t), dir: t.TempDir()}
	s.job = as(newJob(t, s.server))
	s.job.Environment = map[string]string{"GO": s.dir, "PLATFORM_TEST_CONTAINER": s.job.Environment["PLATFORM_TEST_CONTAINER"], "GORACE": "atexit_sleep_ms=0"}
	s.job.Channels = nil
	s.job.HyperParameters = hyperparams.Map{"mode": "steps", "epochs": strconv.Itoa(last)}
	s.job.Checkpoints = platform.Checkpoints{S3URI: "s3://models/checkpoints", Interval: 5 * time.Millisecond}
	s.job.Line = func(l platform.Line) {
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprintf(&s.log, "%s: %s\n", l.Host, l.Text)
	}
	s.job.Transition = func(tr platform.Transition) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.statuses = append(s.statuses, tr.Status)
	}
	return s
}

// allow lets the job take step n.
func (s *stepper) allow(t *testing.T, n int) {
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, strconv.Itoa(n)), nil, 0o644))
}

func (s *stepper) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *stepper) awaitLine(t *testing.T, line string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.text(), line+"\n") }, time.Minute, 2*time.Millisecond, "%s in the log", line)
}

// awaitStored waits until S3 has a checkpoint of this step.
func (s *stepper) awaitStored(t *testing.T, step string) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := get(s.server, "models", "checkpoints/step-algo-1")
		return err == nil && text == step
	}, time.Minute, 5*time.Millisecond, "a checkpoint of step %s", step)
}

func get(server *s3test.Server, bucket, key string) (string, error) {
	response, err := http.Get(server.URL + "/" + bucket + "/" + key)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s", response.Status)
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(response.Body)
	return text.String(), err
}

func TestASpotJobGoesOnFromItsCheckpoint(t *testing.T) {
	for _, unannounced := range []bool{false, true} {
		bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
			s := newStepper(t, as, 3)
			s.job.Spot, s.job.Unannounced = true, unannounced
			s.job.Grace = time.Minute
			running, err := platform.Start(t.Context(), s.job)
			require.NoError(t, err)
			s.awaitLine(t, "algo-1: from step=0;")
			s.allow(t, 0)
			s.allow(t, 1)
			s.awaitLine(t, "algo-1: step=2;")
			s.awaitStored(t, "2")
			running.Interrupt()
			s.awaitLine(t, "algo-1: from step=2;")
			s.allow(t, 2)
			result, err := running.Wait()
			require.NoError(t, err, s.text())
			require.Equal(t, 2, result.Attempts)
			require.Equal(t, "3", files(t, s.server.Client(), result.ModelArtifacts)["steps"])
			require.Equal(t, []platform.SecondaryStatus{
				platform.Starting, platform.Downloading, platform.Training, platform.Interrupted,
				platform.Starting, platform.Downloading, platform.Training, platform.Uploading, platform.Completed,
			}, s.statuses)
			require.Equal(t, platform.Completed, result.SecondaryStatus)
		})
	}
}

// A directory outside /opt/ml is none of those inside, whatever its name.
func TestCheckpointsMayBeAnywhere(t *testing.T) {
	for _, path := range []string{"/model", "/output/data", "/input/config", "/tmp/x", "/opt/ml/checkpoints/a/b", "/opt/mlx/", "/algo-1"} {
		server := newServer(t)
		job := newJob(t, server)
		job.Channels, job.Trainer = nil, nil
		job.Checkpoints = platform.Checkpoints{S3URI: "s3://models/checkpoints", LocalPath: path}
		job.Command, job.Arguments = []string{"sh"}, []string{"-c", `cd $SAGEMAKER_BASE_DIR && echo m > model/m && echo o > output/data/o &&
			dir=$(sed 's/.*"LocalPath":"//; s/".*//' input/config/checkpointconfig.json) && cd $dir && echo c > c`}
		result, err := run(t, t.Context(), job)
		require.NoError(t, err, path)
		require.Equal(t, map[string]string{"m": "m\n"}, files(t, job.S3, result.ModelArtifacts), path)
		require.Equal(t, map[string]string{"o": "o\n"}, files(t, job.S3, result.Output), path)
		list, err := job.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("models"), Prefix: aws.String("checkpoints/")})
		require.NoError(t, err)
		require.Len(t, list.Contents, 1, path)
		require.Equal(t, "checkpoints/c", *list.Contents[0].Key)
	}
}

func TestTransitionsHaveTimes(t *testing.T) {
	result, err := platform.Run(t.Context(), newJob(t, newServer(t)))
	require.NoError(t, err)
	var statuses []platform.SecondaryStatus
	for i, tr := range result.Transitions {
		statuses = append(statuses, tr.Status)
		require.NotEmpty(t, tr.Message)
		require.False(t, tr.End.Before(tr.Start))
		if i > 0 {
			require.Equal(t, result.Transitions[i-1].End, tr.Start)
		}
	}
	require.Equal(t, []platform.SecondaryStatus{platform.Starting, platform.Training, platform.Uploading, platform.Completed}, statuses)
	require.Positive(t, result.BillableTime)
	require.GreaterOrEqual(t, result.BillableTime, result.TrainingTime)
}

func TestAJobThatLosesItsInstancesFailsOrIsTriedAgain(t *testing.T) {
	for _, retries := range []int{0, 1} {
		s := newStepper(t, asCommand, 1)
		s.job.Retries = retries
		running, err := platform.Start(t.Context(), s.job)
		require.NoError(t, err)
		s.awaitLine(t, "algo-1: from step=0;")
		running.Interrupt()
		if retries == 0 {
			result, err := running.Wait()
			require.EqualError(t, err, "training job job-1 failed: InternalServerError: the instances were taken away")
			require.Equal(t, platform.Failed, result.SecondaryStatus)
			continue
		}
		require.Eventually(t, func() bool { return strings.Count(s.text(), "from step=0;") == 2 }, time.Minute, time.Millisecond)
		s.allow(t, 0)
		result, err := running.Wait()
		require.NoError(t, err)
		require.Equal(t, 2, result.Attempts)
		require.Contains(t, s.statuses, platform.Restarting)
	}
}

func TestAJobIsStoppedAtItsLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limit func(*platform.Job)
		want  platform.SecondaryStatus
		text  string
	}{
		"runtime": {func(j *platform.Job) { j.MaxRuntime = 300 * time.Millisecond }, platform.MaxRuntimeExceeded, "it has run for its MaxRuntime"},
		"wait":    {func(j *platform.Job) { j.Spot, j.MaxWait = true, 300*time.Millisecond }, platform.MaxWaitTimeExceeded, "it has taken its MaxWait"},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				server := newServer(t)
				job := as(newJob(t, server))
				job.HyperParameters = hyperparams.Map{"mode": "stop"}
				c.limit(&job)
				var log bytes.Buffer
				job.Log = &log
				result, err := run(t, t.Context(), job)
				require.ErrorIs(t, err, platform.ErrStopped)
				require.ErrorContains(t, err, c.text)
				require.Equal(t, c.want, result.SecondaryStatus)
				if strings.Contains(log.String(), "waiting") { // or it had not come so far
					require.Equal(t, map[string]string{"partial": "half a model"}, files(t, server.Client(), result.ModelArtifacts))
				}
				require.Equal(t, platform.Stopping, result.Transitions[len(result.Transitions)-2].Status)
			})
		})
	}
}

func TestStopEndsAllHosts(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		s := newStepper(t, as, 1)
		s.job.InstanceCount = 3
		running, err := platform.Start(t.Context(), s.job)
		require.NoError(t, err)
		for _, host := range []string{"algo-1", "algo-2", "algo-3"} {
			s.awaitLine(t, host+": from step=0;")
		}
		running.Stop()
		running.Stop()
		result, err := running.Wait()
		require.EqualError(t, err, "the training job was stopped: on request")
		require.Equal(t, platform.Stopped, result.SecondaryStatus)
		require.Equal(t, []platform.SecondaryStatus{platform.Starting, platform.Downloading, platform.Training, platform.Stopping, platform.Stopped}, s.statuses)
		running.Interrupt() // too late to matter
	})
}

func TestAProcessThatLeavesItsGroupEndsWithItsHost(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil || !exists("/proc/self/environ") {
		t.Skip("needs sleep and /proc")
	}
	s := newStepper(t, asCommand, 1)
	s.job.Environment["STRAY"] = "1"
	s.allow(t, 0)
	_, err := run(t, t.Context(), s.job)
	require.NoError(t, err)
	require.Empty(t, processesOf(t, s.job.Dir))
}

// What a host that fails leaves running does not delay its end, nor that of the others.
func TestWhatIsLeftRunningDelaysNoEnd(t *testing.T) {
	job := newJob(t, newServer(t))
	job.Trainer, job.Channels, job.InstanceCount = nil, nil, 2
	job.Command, job.Arguments = []string{"sh"}, []string{"-c", "case $SAGEMAKER_BASE_DIR in *1) sleep 600 & echo bye; exit 3;; esac; sleep 600; exit 4"}
	var log bytes.Buffer
	job.Log = &log
	began := time.Now()
	_, err := run(t, t.Context(), job)
	require.EqualError(t, err, "training job job-1 failed: AlgorithmError: algo-1: , exit code: 3")
	require.Equal(t, "algo-1 | bye\n", log.String())
	require.Less(t, time.Since(began), 5*time.Minute)
}

// The first host that fails is the one that ended first, and not the one after which there was less to clean up.
func TestTheFirstThatFailsIsTheOneThatEndedFirst(t *testing.T) {
	job := newJob(t, newServer(t))
	job.Trainer, job.Channels, job.InstanceCount = nil, nil, 2
	job.Command, job.Arguments = []string{"sh"}, []string{"-c", `
first="$SAGEMAKER_BASE_DIR/../first"
case $SAGEMAKER_BASE_DIR in *1) echo $$ >"$first-" && mv "$first-" "$first"; echo bye; exit 3;; esac
echo $$ >"$SAGEMAKER_BASE_DIR/../second"
while ! [ -s "$first" ]; do sleep 0.01; done
while kill -0 $(cat "$first") 2>/dev/null; do sleep 0.01; done
sleep 0.1
exit 4`}
	job.Line = func(l platform.Line) { // which is slow: until the other host has ended, too, and been cleaned up
		if l.Text == "bye" {
			assert.NoError(t, until(t.Context(), func() bool {
				pid, _ := filepath.Glob(job.Dir + "/*/second")
				return len(pid) == 1
			}))
			assert.NoError(t, until(t.Context(), func() bool { return len(processesOf(t, job.Dir)) == 0 }))
			time.Sleep(100 * time.Millisecond)
		}
	}
	_, err := run(t, t.Context(), job)
	require.EqualError(t, err, "training job job-1 failed: AlgorithmError: algo-1: , exit code: 3")
}

// processesOf returns the command lines of processes whose tree is below dir.
func processesOf(t *testing.T, dir string) (found []string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range environments {
		environ, err := os.ReadFile(file)
		if err == nil && bytes.Contains(environ, []byte("SAGEMAKER_BASE_DIR="+dir)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			if len(line) > 0 { // or it is dead
				found = append(found, string(line))
			}
		}
	}
	return found
}

// A platform is a process that runs a job until it is killed.
func TestWhatAKilledPlatformLeavesIsSwept(t *testing.T) {
	if !exists("/proc/self/environ") {
		t.Skip("needs /proc")
	}
	dir := t.TempDir()
	server := newServer(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLATFORM_TEST_PLATFORM="+server.URL, "PLATFORM_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	line := make([]byte, 64)
	n, err := out.Read(line)
	require.NoError(t, err)
	require.Contains(t, string(line[:n]), "from step=0;")
	require.NotEmpty(t, processesOf(t, dir))
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()

	require.NoError(t, platform.Sweep(dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "only what is no tree stays")
	require.Eventually(t, func() bool { return len(processesOf(t, dir)) == 0 }, time.Minute, 10*time.Millisecond)
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), dir)
	require.NoError(t, platform.Sweep(filepath.Join(dir, "not-there")))
}

func TestSweepTakesTreesOnly(t *testing.T) {
	here, dir := t.TempDir(), t.TempDir()
	t.Chdir(here)
	t.Setenv("TMPDIR", dir)
	for _, name := range []string{"algospec-job-1-123/algo-1", "algospec-src/internal", "algospec-/x"} {
		require.NoError(t, os.MkdirAll(filepath.Join(here, name), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	require.NoError(t, platform.Sweep(""))
	require.DirExists(t, filepath.Join(here, "algospec-job-1-123"), "that is not where jobs without a Dir are")
	require.NoDirExists(t, filepath.Join(dir, "algospec-job-1-123"))
	require.DirExists(t, filepath.Join(dir, "algospec-src/internal"))
	require.DirExists(t, filepath.Join(dir, "algospec-/x"))
}

// killable is the platform of that test: a job with all kinds of channels, and a stray process.
func killable(url, dir string) {
	client := s3.New(s3.Options{BaseEndpoint: &url, Region: "us-east-1", UsePathStyle: true, Credentials: aws.AnonymousCredentials{}})
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		panic(err)
	}
	channels := []platform.Channel{
		{Name: "pipe", S3URI: "s3://data/train/"},
		{Name: "file", S3URI: "s3://data/train/", InputMode: "File"},
	}
	if os.Geteuid() == 0 {
		channels = append(channels,
			platform.Channel{Name: "fast", S3URI: "s3://data/train/", InputMode: "FastFile"},
			platform.Channel{Name: "dir", Directory: dir, InputMode: "File"})
	}
	_, err := platform.Run(context.Background(), platform.Job{
		Name: "killed", S3: client, Dir: dir, Command: []string{os.Args[0]}, OutputPath: "s3://models/x", Channels: channels,
		HyperParameters: hyperparams.Map{"mode": "steps", "epochs": "1"}, InstanceCount: 2, Log: os.Stdout,
		Environment: map[string]string{"PLATFORM_TEST_CONTAINER": "1", "STRAY": "1", "GO": dir},
	})
	panic(err)
}
