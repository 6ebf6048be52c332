package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCatToALinkKeepsIt(t *testing.T) {
	dir := t.TempDir()
	real, link, stdout := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "stdout")
	require.NoError(t, os.WriteFile(real, []byte("old"), 0o644))
	require.NoError(t, os.Symlink("real", link))
	require.NoError(t, os.Symlink("/proc/self/fd/1", stdout)) // as /dev/stdout
	for _, to := range []string{link, stdout} {
		cmd, server := dataCommand(t, "cat", "--to", to, "s3://bucket/")
		require.NoError(t, server.Put("bucket", "x", strings.NewReader("three\n")))
		out, err := os.Create(filepath.Join(dir, "out"))
		require.NoError(t, err)
		cmd.Stdout = out
		require.NoError(t, cmd.Run())
		out.Close()
		info, err := os.Lstat(to)
		require.NoError(t, err)
		require.Equal(t, os.ModeSymlink, info.Mode().Type())
	}
	for _, path := range []string{real, filepath.Join(dir, "out")} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "three\n", string(content))
	}
}

func TestCatEndsWhenTheReaderOfANamedPipeHasGone(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	both, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	require.NoError(t, err)
	both.Close()
	cmd, server := dataCommand(t, "cat", "s3://bucket/")
	require.NoError(t, server.Put("bucket", "x", strings.NewReader("three\n")))
	cmd.Stdout = w
	require.NoError(t, cmd.Start())
	w.Close()
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	require.NoError(t, cmd.Wait())
}

func TestMountOnANamedPipeFailsAtOnce(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd, server := dataCommand(t, "mount", "s3://bucket/", pipe)
	require.NoError(t, server.Put("bucket", "x", strings.NewReader("three\n")))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	cmd.Wait()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), stderr.String())
}

func TestMountOutlivesItsTerminalAndItsOutput(t *testing.T) {
	t.Run("SIGHUP", func(t *testing.T) {
		cmd, dir, stderr := mounted(t, nil)
		t.Cleanup(func() { exec.Command("umount", dir).Run() })
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		require.NoError(t, cmd.Wait(), stderr)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	t.Run("stdout that nobody reads", func(t *testing.T) {
		dir := t.TempDir()
		t.Cleanup(func() { exec.Command("umount", dir).Run() })
		cmd, server := dataCommand(t, "mount", "s3://bucket/", dir)
		require.NoError(t, server.Put("bucket", "x", strings.NewReader("three\n")))
		r, w, err := os.Pipe()
		require.NoError(t, err)
		r.Close()
		cmd.Stdout = w
		require.NoError(t, cmd.Start())
		w.Close()
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(dir, "x"))
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
	})
}
