//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/s3test"
)

// dataCommand returns a command "algospec data" and the server that it asks.
func dataCommand(t *testing.T, args ...string) (*exec.Cmd, *s3test.Server) {
	t.Helper()
	server := s3test.New()
	t.Cleanup(func() { server.Close() })
	cmd := algospec(t, append([]string{"data"}, args...)...)
	cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL_S3="+server.URL, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_EC2_METADATA_DISABLED=true")
	return cmd, server
}

func TestCtrlCEndsCatWhileItWaits(t *testing.T) {
	for _, test := range []struct {
		name string
		wait func(t *testing.T, cmd *exec.Cmd, server *s3test.Server, pipe string)
	}{
		{"for somebody to open the pipe", func(t *testing.T, cmd *exec.Cmd, server *s3test.Server, _ string) {
			listed := make(chan struct{})
			server.SetFault(func(*http.Request) *s3test.Fault {
				close(listed)
				return nil
			})
			require.NoError(t, cmd.Start())
			<-listed // which is the last it does before
		}},
		{"for the pipe's reader", func(t *testing.T, cmd *exec.Cmd, _ *s3test.Server, pipe string) {
			require.NoError(t, cmd.Start())
			opened(t, pipe)
		}},
		{"for S3", func(t *testing.T, cmd *exec.Cmd, server *s3test.Server, pipe string) {
			asked := make(chan struct{})
			answer := sync.OnceFunc(func() { close(asked) })
			server.SetFault(func(r *http.Request) *s3test.Fault {
				if !strings.HasSuffix(r.URL.Path, "/object") {
					return nil
				}
				answer()
				return &s3test.Fault{Stall: true}
			})
			require.NoError(t, cmd.Start())
			reader, err := os.Open(pipe)
			require.NoError(t, err)
			t.Cleanup(func() { reader.Close() })
			<-asked
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
			cmd, server := dataCommand(t, "cat", "--to", pipe, "s3://bucket/")
			require.NoError(t, server.Put("bucket", "object", bytes.NewReader(make([]byte, 4<<20))))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			test.wait(t, cmd, server, pipe)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			cmd.Wait()
			require.Equal(t, 130, cmd.ProcessState.ExitCode())
			require.Equal(t, "algospec: stopped\n", stderr.String())
		})
	}
}

// opened opens a pipe, reads a byte and no more.
func opened(t *testing.T, pipe string) {
	t.Helper()
	reader, err := os.Open(pipe)
	require.NoError(t, err)
	t.Cleanup(func() { reader.Close() })
	_, err = io.ReadFull(reader, make([]byte, 1))
	require.NoError(t, err)
}

// SIGTERM reaches a command whose stdout nobody reads, and the pipe stays as others want it.
func TestAPipeAsStdoutIsInterruptedAndStaysBlocking(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("stdout can't be opened anew")
	}
	cmd, server := dataCommand(t, "cat", "s3://bucket/")
	require.NoError(t, server.Put("bucket", "object", bytes.NewReader(make([]byte, 4<<20))))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	cmd.Stdout = w
	flags := func() uintptr {
		flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), syscall.F_GETFL, 0)
		return flags & syscall.O_NONBLOCK
	}
	before := flags()
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(r, make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, before, flags())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
}

// mounted starts "data mount" and returns it, and where, once it says that the files are there.
func mounted(t *testing.T, fault func(*http.Request) *s3test.Fault) (cmd *exec.Cmd, dir string, stderr *bytes.Buffer) {
	t.Helper()
	testenv.FUSE(t)
	dir = t.TempDir()
	cmd, server := dataCommand(t, "mount", "-v", "s3://bucket/train", dir)
	for key, content := range map[string]string{"train/a": "one\n", "train/b/c": "two\n"} {
		require.NoError(t, server.Put("bucket", key, strings.NewReader(content)))
	}
	server.SetFault(fault)
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, stderr)
	require.Equal(t, "s3://bucket/train is mounted on "+dir+": 2 files, 8 B; Ctrl-C unmounts it\n", line)
	return cmd, dir, stderr
}

func TestMountServesOtherProcessesUntilItIsInterrupted(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd, dir, stderr := mounted(t, nil)
			out, err := exec.Command("cat", filepath.Join(dir, "a"), filepath.Join(dir, "b", "c")).CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, "one\ntwo\n", string(out))
			require.NoError(t, cmd.Process.Signal(signal))
			require.NoError(t, cmd.Wait(), stderr)
			require.Regexp(t, `^2 files opened, 8 B read; 8 B fetched in 2 requests; readers waited .* s\n$`, stderr.String())
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left, "it is still mounted")
		})
	}
}

func TestMountTellsWhatS3DidToAReader(t *testing.T) {
	cmd, dir, stderr := mounted(t, func(r *http.Request) *s3test.Fault {
		if strings.HasSuffix(r.URL.Path, "/a") {
			return &s3test.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
		}
		return nil
	})
	_, err := os.ReadFile(filepath.Join(dir, "a"))
	require.ErrorIs(t, err, syscall.EIO)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	cmd.Wait()
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "s3://bucket/train/a at byte 0")
	require.NotContains(t, stderr.String(), "stopped")
}

// A process that was killed leaves a dead mount, which the next one takes the place of.
func TestMountTakesThePlaceOfADeadOne(t *testing.T) {
	cmd, dir, _ := mounted(t, nil)
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	_, err := os.ReadDir(dir)
	require.ErrorIs(t, err, syscall.ENOTCONN)
	t.Cleanup(func() { exec.Command("umount", dir).Run() }) // should all of this fail
	again, server := dataCommand(t, "mount", "s3://bucket/", dir)
	require.NoError(t, server.Put("bucket", "x", strings.NewReader("three\n")))
	stdout, err := again.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, again.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(dir, "x"))
	require.NoError(t, err)
	require.Equal(t, "three\n", string(content))
	require.NoError(t, exec.Command("umount", dir).Run()) // somebody else's hand ends it, too
	require.NoError(t, again.Wait())
}
