package platform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/rusage"
)

// A hostEnd is how the algorithm on a host ended.
type hostEnd struct {
	code    int    // its exit status, 128+n when signal n killed it
	maxRSS  int64  // bytes
	failure string // why it failed, where no failure file says so
	err     error  // why it could not be run or waited for
}

// runHost runs the algorithm. When ctx is done it is told to stop, and killed after the grace.
func (r *run) runHost(ctx context.Context) hostEnd {
	if r.job.Trainer != nil {
		return r.runTrainer(ctx)
	}
	return r.runCommand(ctx)
}

func (j *Job) grace() time.Duration {
	if j.Grace == 0 {
		return 120 * time.Second
	}
	return j.Grace
}

// environment is what the container's process sees (container contract, 1.5).
func (r *run) environment() map[string]string {
	env := map[string]string{
		"TRAINING_JOB_NAME":           r.job.Name,
		"TRAINING_JOB_ARN":            "arn:aws:sagemaker:us-east-1:000000000000:training-job/" + strings.ToLower(r.job.Name),
		"AWS_REGION":                  "us-east-1",
		"SAGEMAKER_BASE_DIR":          r.tree.path(),
		"SAGEMAKER_METRICS_DIRECTORY": r.tree.path("output/metrics/sagemaker"),
		"PATH":                        os.Getenv("PATH"),
		"HOME":                        os.Getenv("HOME"),
	}
	maps.Copy(env, r.job.Environment)
	return env
}

// runTrainer runs the algorithm as a goroutine.
func (r *run) runTrainer(ctx context.Context) hostEnd {
	env := r.environment()
	trainerCtx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() { ended <- err }()
		err = algospec.Run(trainerCtx, r.job.Trainer, algospec.Options{
			BaseDir: r.tree.path(), Stdout: r.log, Getenv: func(key string) string { return env[key] },
		})
	}()
	select {
	case err := <-ended:
		return trainerEnd(err)
	case <-ctx.Done():
	}
	stop(algospec.ErrStopped)
	timer := time.NewTimer(r.job.grace())
	defer timer.Stop()
	select {
	case err := <-ended:
		return trainerEnd(err)
	case <-timer.C:
		// A goroutine cannot be killed; it is left behind, and what it logs from now on is dropped.
		r.left = ended
		fmt.Fprintf(r.log, "platform: the trainer did not return within %v of being stopped\n", r.job.grace())
		return hostEnd{code: 128 + int(syscall.SIGKILL)}
	}
}

func trainerEnd(err error) hostEnd {
	end := hostEnd{code: algospec.ExitStatus(err)}
	if err == errGoexit {
		end.failure = err.Error()
	}
	return end
}

// errGoexit is the end of a trainer that calls runtime.Goexit, as t.FailNow does in a test.
var errGoexit = errors.New("the trainer ended its goroutine")

// runCommand runs the algorithm as a child process, in a process group of its own.
func (r *run) runCommand(ctx context.Context) hostEnd {
	path, err := exec.LookPath(r.job.Command[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return hostEnd{err: err}
	}
	cmd := exec.Command(path, append(slices.Clone(r.job.Command[1:]), "train")...)
	env := r.environment()
	for _, key := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = r.log, r.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second // for grandchildren that keep the log open
	if err := cmd.Start(); err != nil {
		return hostEnd{err: err}
	}
	group := -cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err = r.awaitEnd(ctx, ended, group)
	syscall.Kill(group, syscall.SIGKILL) // what the process has started goes with it
	return commandEnd(cmd.ProcessState, err)
}

// awaitEnd waits for the process; when ctx is done it sends SIGTERM and, after the grace, SIGKILL.
func (r *run) awaitEnd(ctx context.Context, ended <-chan error, group int) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	syscall.Kill(group, syscall.SIGTERM)
	timer := time.NewTimer(r.job.grace())
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
	}
	syscall.Kill(group, syscall.SIGKILL)
	return <-ended
}

func commandEnd(state *os.ProcessState, err error) hostEnd {
	var end hostEnd
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) {
		end.err = err
	}
	if state == nil {
		return end
	}
	end.code = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.code = 128 + int(status.Signal())
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		end.maxRSS = rusage.MaxRSS(usage)
	}
	return end
}
