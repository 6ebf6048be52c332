package platform

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leave starts a shell script as a process of the tree that is not in its group.
func leave(t *testing.T, tree, script string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stray")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "SAGEMAKER_BASE_DIR="+tree)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, cmd.Start())
	return cmd
}

// A process that becomes another program has no environment for a moment.
func TestAProcessIsFoundWhileItBecomesAnotherProgram(t *testing.T) {
	for range 40 {
		tree := t.TempDir()
		cmd := leave(t, tree, `: >"$SAGEMAKER_BASE_DIR/up"; exec "$0"`)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for {
			if _, err := os.Stat(tree + "/up"); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		killStrays(tree)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			<-ended
			t.Fatal("it was not found")
		}
	}
}

// One that hands over to another and ends is gone by the time that it is looked at, and the other was not there before.
func TestAProcessIsFoundThatHandsOverToAnother(t *testing.T) {
	for range 10 {
		tree := t.TempDir()
		cmd := leave(t, tree, `: >"$SAGEMAKER_BASE_DIR/up"; "$0" & exit`)
		require.NoError(t, cmd.Wait())
		killStrays(tree)
		require.NoError(t, os.RemoveAll(tree+"/up"))
		time.Sleep(50 * time.Millisecond) // in which it would have told of itself
		require.NoFileExists(t, tree+"/up")
	}
}

// The processes that have no environment, and those of others, are let be, and not waited for.
func TestOthersAreNoStrays(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{}
	require.NoError(t, cmd.Start())
	other := leave(t, t.TempDir(), "exec sleep 600")
	killStrays(t.TempDir())
	for _, cmd := range []*exec.Cmd{cmd, other} {
		require.NoError(t, cmd.Process.Signal(syscall.Signal(0)))
		require.NoError(t, cmd.Process.Kill())
		cmd.Wait()
	}
}
