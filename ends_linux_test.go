package algospec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each row is a real process; one that prints "waiting" gets SIGTERM. The failure file is how the text begins, and absent where it is "".
func TestEveryEndHasItsStatusAndItsFailureFile(t *testing.T) {
	for _, c := range []struct {
		mode    string
		prepare func(t *testing.T, base string)
		status  int // -1: killed
		failure string
		model   string
		says    string // the log
	}{
		{mode: "nil", model: "nil"},
		{mode: "client error", status: 2, failure: "ClientError: bad data", says: "bad data"},
		{mode: "error", status: 1, failure: "AlgorithmError: it broke", says: "it broke"},
		{mode: "Goexit", status: 1, failure: "AlgorithmError: the train function ended its goroutine with runtime.Goexit"},
		{mode: "os.Exit", status: 3, failure: "AlgorithmError: the process ended abruptly"},
		{mode: "log.Fatal", status: 1, failure: "AlgorithmError: the process ended abruptly", says: "fatal"},
		{mode: "killed", status: -1, failure: "AlgorithmError: the process ended abruptly"},
		{mode: "no model", status: 1, failure: "AlgorithmError: the training ended and left the model directory empty"},
		{mode: "honoured", says: "stopped by the platform"},
		{mode: "saving", model: "saved"},
		{mode: "stopped in Save", model: "whole"},
		{mode: "saving fails", status: 1, failure: "AlgorithmError: save hook 1 of 1: disk on fire"},
		{mode: "saving for ever", status: 1, failure: "AlgorithmError: stopped, and save hook 1 of 1 has not returned after 950ms",
			says: "stopped, and save hook 1 of 1 has not returned after 950ms"},
		{mode: "ignored", status: 1, failure: "AlgorithmError: stopped, and the train function has not returned after 950ms"},
		{mode: "error of stop", status: 1, failure: "AlgorithmError: it broke then"},

		{mode: "error", prepare: fileInsteadOf("output"), status: 1, says: "no failure file"},
		{mode: "error", prepare: fullDisk("output"), status: 1, says: "no space left on device"},
		{mode: "full disk", prepare: func(t *testing.T, base string) {
			mount(t, filepath.Join(base, "output"), 0, "size=64k")
			require.NoError(t, os.Mkdir(base+"/output/data", 0o755))
		},
			status: 1, failure: "AlgorithmError: save more: ", says: "no space left on device"},
		{mode: "client error", prepare: readOnly("output"), status: 2, says: "read-only file system"},
		{mode: "honoured", prepare: readOnly("output")},
		{mode: "nil", prepare: readOnly("model"), status: 1, failure: "AlgorithmError: save model: "},
		{mode: "nil", prepare: fullDisk("model"), status: 1, failure: "AlgorithmError: save model: ", says: "no space left on device"},
		{mode: "nil", prepare: fileInsteadOf("model"), status: 1, failure: "AlgorithmError: "},
		{mode: "saving", prepare: readOnly("model"), status: 1, failure: "AlgorithmError: save hook 1 of 1: save model: "},
		{mode: "error", prepare: func(t *testing.T, base string) {
			require.NoError(t, os.WriteFile(base+"/output/failure", []byte("the first"), 0o644))
		}, status: 1, failure: "the first"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			base := tree(t, nil)
			if c.prepare != nil {
				c.prepare(t, base)
			}
			var log bytes.Buffer
			cmd := command(t, base, c.mode)
			grace := "10m" // which no end waits for
			if strings.Contains(c.failure, "950ms") {
				grace = "1s"
			}
			cmd.Env = append(cmd.Env, "ALGOSPEC_GRACE="+grace)
			out := &signalling{&log, func() { cmd.Process.Signal(syscall.SIGTERM) }}
			cmd.Stdout, cmd.Stderr = out, out
			began := time.Now()
			require.NoError(t, cmd.Start())
			cmd.Wait()
			require.Less(t, time.Since(began), time.Minute)
			require.Equal(t, c.status, cmd.ProcessState.ExitCode(), "%s", log.String())
			require.Contains(t, log.String(), c.says)
			if c.failure == "" {
				require.NoFileExists(t, filepath.Join(base, "output", "failure"))
			} else {
				text := failure(t, base)
				require.Equal(t, c.failure, text[:min(len(text), len(c.failure))], "%s", text)
			}
			if model, err := os.ReadFile(filepath.Join(base, "model", "model")); c.model != "" {
				require.NoError(t, err)
				require.Equal(t, c.model, string(model))
			} else {
				require.Error(t, err)
			}
		})
	}
}

// signalling passes on what a process prints, and calls signal once it waits.
type signalling struct {
	to     *bytes.Buffer
	signal func()
}

func (s *signalling) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("waiting\n")) {
		s.signal()
	}
	return s.to.Write(p)
}

func fileInsteadOf(dir string) func(*testing.T, string) {
	return func(t *testing.T, base string) {
		require.NoError(t, os.RemoveAll(filepath.Join(base, dir)))
		require.NoError(t, os.WriteFile(filepath.Join(base, dir), nil, 0o644))
	}
}

func readOnly(dir string) func(*testing.T, string) {
	return func(t *testing.T, base string) { mount(t, filepath.Join(base, dir), syscall.MS_RDONLY, "") }
}

func fullDisk(dir string) func(*testing.T, string) {
	return func(t *testing.T, base string) {
		path := filepath.Join(base, dir)
		mount(t, path, 0, "size=4k")
		require.ErrorIs(t, os.WriteFile(filepath.Join(path, "filler"), make([]byte, 64<<10), 0o644), syscall.ENOSPC)
	}
}

// mount mounts an empty file system.
func mount(t *testing.T, path string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", path, "tmpfs", flags, options); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(path, 0)) })
}
