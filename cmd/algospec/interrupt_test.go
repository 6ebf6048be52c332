//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// algospec returns the command, which is this test binary under the name that TestMain looks at.
func algospec(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return &exec.Cmd{Path: path, Args: append([]string{"algospec"}, args...), Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0")}
}

func TestCtrlCEndsACommandThatWaitsForItsInput(t *testing.T) {
	dir := t.TempDir()
	pipe, salvaged := filepath.Join(dir, "pipe"), filepath.Join(dir, "salvaged")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := algospec(t, "records", "verify", "--salvage", salvaged, pipe)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the command to read
	require.NoError(t, err)
	defer writer.Close()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Equal(t, "algospec: stopped\n", stderr.String())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "a file is left")
}
