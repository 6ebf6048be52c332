package platform_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3test"
)

var fastFile = platform.Channel{S3URI: "s3://data/train/", InputMode: "FastFile"}

// An end is how an algorithm that has files open may end.
type end struct {
	name, words string
	check       func(t *testing.T, err error)
	process     bool // only a process can
}

var ends = []end{
	{"success", "train.hold=part-1 succeed", func(t *testing.T, err error) { require.NoError(t, err) }, false},
	{"failure", "train.hold=part-1 no-such-word", func(t *testing.T, err error) { require.Contains(t, failure(t, err), "no such word") }, false},
	{"panic", "train.hold=part-1 panic", func(t *testing.T, err error) { require.Contains(t, failure(t, err), "panic: at the disco") }, false},
	{"stop", "train.hold=part-1 say-waiting wait", func(t *testing.T, err error) { require.ErrorIs(t, err, platform.ErrStopped) }, false},
	{"stop amid an epoch", "train.open train.read=100 say-waiting wait", func(t *testing.T, err error) { require.ErrorIs(t, err, platform.ErrStopped) }, false},
	{"kill", "train.hold=part-1 train.lend=part-2 die", func(t *testing.T, err error) { require.Contains(t, failure(t, err), "exit code: 137") }, true},
}

// Whatever the end, nothing is left: no mount, directory, descriptor, goroutine or process.
func TestNothingIsLeftOfAChannelOfFiles(t *testing.T) {
	dir := directory(t, objects{"set/part-1": "one", "set/part-2": "two"})
	for _, c := range []platform.Channel{fastFile, {Directory: dir}, {Directory: dir, FileSystemAccessMode: "rw"}, {S3URI: fastFile.S3URI, InputMode: "File"}} {
		t.Run(strings.TrimSpace(c.InputMode+" "+c.FileSystemAccessMode), func(t *testing.T) {
			if c.InputMode == "FastFile" {
				testenv.FUSE(t)
			}
			for _, end := range ends {
				t.Run(end.name, func(t *testing.T) {
					bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
						leavesNothing(t)
						words := end.words
						if c.Directory != "" {
							words = strings.ReplaceAll(words, "read=100", "read=4")
						}
						job, log := newInputJob(t, newServer(t), c, words)
						job = as(job)
						if job.Trainer != nil && end.process {
							t.Skip("it cannot end so")
						}
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						job.Log = watch(log, "waiting", cancel)
						job.Grace = time.Minute
						_, err := run(t, ctx, job)
						end.check(t, err)
						for _, pid := range said(log, "pid") {
							require.Eventually(t, func() bool { return !lives(pid) }, time.Minute, time.Millisecond, "process %s lives", pid)
						}
						for _, part := range []string{"part-1", "part-2"} {
							require.FileExists(t, filepath.Join(dir, part), "the user's data")
						}
					})
				})
			}
		})
	}
}

// lives says whether a process is there and no zombie.
func lives(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

func TestAMappedFileInFastFileMode(t *testing.T) {
	testenv.FUSE(t)
	job, log := newInputJob(t, newServer(t), fastFile, "train.mmap=part-2 train.file=part-1 train.write=new train.write=part-0 succeed")
	_, err := run(t, t.Context(), asCommand(job))
	require.NoError(t, err, log.String())
	require.Equal(t, []string{
		fmt.Sprintf("part-2 %08x", crc32.ChecksumIEEE(data[2<<20:])), fmt.Sprintf("part-1 %08x", crc32.ChecksumIEEE(data[1000:2<<20])),
	}, said(log, "file"))
	require.Equal(t, []string{"new: read-only file system", "part-0: read-only file system"}, said(log, "write"))
}

// The algorithm knows of EIO only; the job knows why. It fails even where the algorithm does not mind.
func TestAReadThatFailsForGoodInFastFileMode(t *testing.T) {
	testenv.FUSE(t)
	for _, c := range []struct{ name, words string }{
		{"the algorithm fails", "train.file=part-0 train.file=part-1"},
		{"through its channel", whole},
		{"the algorithm does not mind", "train.file=part-0 train.try=part-1 succeed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				leavesNothing(t)
				server := newServer(t)
				var gets atomic.Int64
				server.SetFault(func(r *http.Request) *s3test.Fault {
					switch {
					case !isGet(r, "train/part-1"):
						return nil
					case gets.Add(1) == 1:
						return &s3test.Fault{At: 70_000, Cut: true}
					}
					return &s3test.Fault{Status: 500, Code: "InternalError"}
				})
				job, log := newInputJob(t, server, fastFile, c.words)
				result, err := run(t, t.Context(), as(job))
				require.Regexp(t, `^InternalServerError: channel train: Data download failed: s3://data/train/part-1 at byte \d+: `, failure(t, err))
				require.Empty(t, result.ModelArtifacts)
				require.Empty(t, lines(log), "the reader never saw an end")
				if c.name == "the algorithm does not mind" {
					require.Equal(t, []string{"part-1: input/output error"}, said(log, "try"))
				}
			})
		})
	}
}

func TestAnObjectThatIsReplacedInFastFileMode(t *testing.T) {
	testenv.FUSE(t)
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		server := newServerOf(t, objects{"train/big": strings.Repeat(string(data[:1<<20]), 8)})
		job, log := newInputJob(t, server, fastFile, "train.open train.read=1000 say-now signal train.rest train.close")
		signal := filepath.Join(t.TempDir(), "signal")
		job.Environment = map[string]string{"SIGNAL": signal}
		job.Log = watch(log, "now", func() {
			server.Put("data", "train/big", bytes.NewReader(make([]byte, 8<<20)))
			os.WriteFile(signal, nil, 0o644)
		})
		_, err := run(t, t.Context(), as(job))
		require.Regexp(t, `^ClientError: channel train: Data download failed: s3://data/train/big at byte \d+: the object changed after it was listed`, failure(t, err))
		require.Empty(t, lines(log), "the reader never saw an end")
	})
}

// A reader that waits for S3 does not keep the job from being stopped: the process ends by itself just before
// its grace is over, or is killed then; the trainer is left behind with an error.
func TestAStopWhileFastFileWaits(t *testing.T) {
	testenv.FUSE(t)
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		leavesNothing(t)
		server := newServer(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		server.SetFault(func(r *http.Request) *s3test.Fault {
			if !isGet(r, "train/part-0") {
				return nil
			}
			cancel()
			return &s3test.Fault{Stall: true}
		})
		job, _ := newInputJob(t, server, fastFile, whole)
		job.Grace = 50 * time.Millisecond
		began := time.Now()
		result, err := platform.Run(ctx, as(job))
		require.ErrorIs(t, err, platform.ErrStopped)
		require.Contains(t, []int{1, 137}, result.ExitCode)
		require.Eventually(t, func() bool { // when the trainer has got its error and told it
			left, err := os.ReadDir(job.Dir)
			return err == nil && len(left) == 0
		}, time.Minute, time.Millisecond)
		require.Less(t, time.Since(began), time.Minute)
	})
}

func TestWhatAnAlgorithmWritesToADirectory(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		for _, access := range []string{"rw", "ro"} {
			dir := directory(t, objects{"set/x": "x", "set/sub/y": "y"})
			job, log := newInputJob(t, newServer(t), platform.Channel{Directory: dir, FileSystemAccessMode: access},
				"train.write=new train.write=x train.write=sub/z succeed")
			_, err := run(t, t.Context(), as(job))
			require.NoError(t, err)
			want := map[string]string{"x": "x", "sub/y": "y"}
			how := "read-only file system"
			if access == "rw" || os.Geteuid() != 0 { // only root can keep the user out of the user's files
				want["new"], want["x"], want["sub/z"] = "written", "written", "written"
				how = "<nil>"
			}
			require.Equal(t, []string{"new: " + how, "x: " + how, "sub/z: " + how}, said(log, "write"))
			got := map[string]string{}
			for _, path := range []string{"x", "sub/y", "new", "sub/z"} {
				if text, err := os.ReadFile(filepath.Join(dir, path)); err == nil {
					got[path] = string(text)
				}
			}
			require.Equal(t, want, got)
		}
	})
}

// mountSmall mounts a file system of a megabyte; only root may.
func mountSmall(t *testing.T) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("cannot mount a tmpfs, as root may: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

func TestADiskThatIsTooSmall(t *testing.T) {
	half := strings.Repeat("x", 600_000)
	const want = "ClientError: Data download failed: no space for twin/x: "
	file := platform.Channel{S3URI: "s3://data/set/", InputMode: "File"}
	t.Run("from the beginning", func(t *testing.T) {
		job, _ := newInputJob(t, newServerOf(t, objects{"set/x": half}), file, "")
		job.Channels = append(job.Channels, file)
		job.Channels[1].Name = "twin"
		job.Dir = mountSmall(t)
		_, err := run(t, t.Context(), job)
		require.True(t, strings.HasPrefix(failure(t, err), want), "%v", err)
		require.ErrorIs(t, err, unix.ENOSPC)
	})
	t.Run("in the end", func(t *testing.T) {
		small := mountSmall(t)
		server := newServerOf(t, objects{"set/x": half})
		var once sync.Once
		server.SetFault(func(r *http.Request) *s3test.Fault {
			if isGet(r, "set/x") {
				once.Do(func() { os.WriteFile(filepath.Join(small, "other"), make([]byte, 1<<20), 0o644) })
			}
			return nil
		})
		job, _ := newInputJob(t, server, file, "")
		job.Channels[0].Name = "twin"
		job.Dir = filepath.Join(small, "jobs")
		require.NoError(t, os.Mkdir(job.Dir, 0o755))
		_, err := run(t, t.Context(), job)
		require.True(t, strings.HasPrefix(failure(t, err), want), "%v", err)
		require.Equal(t, 1, strings.Count(err.Error(), "ClientError"), "it says so once: %v", err)
		require.False(t, errors.Is(err, context.Canceled))
	})
}
