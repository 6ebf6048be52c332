package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSIGTERMReachesTheProgramAsPID1(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, said := w.start(t, Spec{Arguments: []string{"catch=5"}})
		said.await(t, "ready")
		require.NoError(t, c.Signal(t.Context(), syscall.SIGTERM))
		require.Equal(t, End{ExitCode: 5}, wait(t, c))
		require.Equal(t, "ready\ngot terminated\n", said.String())
		require.NoError(t, c.Signal(t.Context(), syscall.SIGTERM), "a program that has ended gets none")
	})
}

func TestAProgramThatIgnoresSIGTERMIsKilled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, said := w.start(t, Spec{Arguments: []string{"ignore="}})
		said.await(t, "ready")
		require.NoError(t, c.Signal(t.Context(), syscall.SIGTERM))
		short, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errGrace)
		defer cancel()
		_, err := c.Wait(short)
		require.Equal(t, errGrace, err)
		require.NoError(t, c.Signal(t.Context(), syscall.SIGKILL))
		require.Equal(t, End{ExitCode: 137}, wait(t, c))
	})
}

var errGrace = errors.New("the grace is over")

func TestSignalsGoThroughTheCommandWhereTheProcessIsNotSeen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, said := w.start(t, Spec{Arguments: []string{"catch=6"}})
		said.await(t, "ready")
		c.process.Release()
		c.process = nil
		require.NoError(t, c.Signal(t.Context(), syscall.SIGTERM))
		require.Equal(t, End{ExitCode: 6}, wait(t, c))
		require.NoError(t, c.Signal(t.Context(), syscall.SIGTERM))
	})
}

func TestAProgramKilledForItsMemoryIsTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		end, said := w.run(t, Spec{Arguments: []string{"eat=16"}, Memory: 64 << 20, CPUs: 0.5})
		require.Equal(t, End{}, end, said)
		end, said = w.run(t, Spec{Arguments: []string{"eat=200"}, Memory: 64 << 20})
		require.Equal(t, End{ExitCode: 137, OOMKilled: true}, end, said)
	})
}

func TestRemoveEndsAProgramEvenWhereTheContextIsDone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, said := w.start(t, Spec{Arguments: []string{"ignore="}})
		said.await(t, "ready")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, c.Remove(ctx))
		w.requireNothing(t)
		require.NoError(t, c.Remove(ctx), "again")
		require.True(t, closed(c.ended))
	})
}

// Wherever the start is cut short, nothing remains.
func TestACancelledStartLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for delay := time.Duration(0); delay < 500*time.Millisecond; delay += 50 * time.Millisecond {
			ctx, cancel := context.WithTimeoutCause(t.Context(), delay, errGrace)
			c, err := w.Start(ctx, Spec{Name: w.name(), Image: w.image, Arguments: []string{"ignore="}, Labels: w.labels()})
			cancel()
			if err == nil {
				require.NoError(t, c.Remove(ctx))
			} else {
				require.ErrorIs(t, err, errGrace)
			}
			w.requireNothing(t)
		}
	})
}

func TestAStartThatFailsLeavesTheOtherOfThatName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first, said := w.start(t, Spec{Arguments: []string{"catch=0"}})
		said.await(t, "ready")
		_, err := w.Start(t.Context(), Spec{Name: first.name, Image: w.image, Labels: w.labels()})
		require.ErrorContains(t, err, "in use")
		require.NoError(t, first.Signal(t.Context(), syscall.SIGTERM))
		require.Equal(t, End{}, wait(t, first))
	})
}

func TestTheCommandsDeathIsNotTheProgramsEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c, said := w.start(t, Spec{Arguments: []string{"ignore="}})
		said.await(t, "ready")
		pid := c.process.Pid
		require.NoError(t, c.attached.cmd.Process.Kill())
		_, err := c.Wait(t.Context())
		require.ErrorContains(t, err, "container "+c.name+": "+w.String()+" start: it ended before the container, which is running: signal: killed")
		requireGone(t, pid)
	})
}

func TestTheMonitorsDeathIsAnError(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if !w.podman {
			t.Skip("docker has no such monitor")
		}
		c, said := w.start(t, Spec{Arguments: []string{"ignore="}})
		said.await(t, "ready")
		pid := c.process.Pid
		require.NoError(t, syscall.Kill(conmon(t, c.id), syscall.SIGKILL))
		usual := w.patience
		w.patience = 5 * time.Second // podman itself gives up after 20
		require.NoError(t, c.Signal(t.Context(), syscall.SIGKILL))
		_, err := c.Wait(t.Context())
		w.patience = usual
		require.ErrorContains(t, err, "it ended before the container")
		requireGone(t, pid)
	})
}

// conmon returns the process that holds a container's output.
func conmon(t *testing.T, id string) int {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if strings.Contains(string(line), "conmon\x00") && strings.Contains(string(line), id) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			return pid
		}
	}
	require.Fail(t, "no conmon")
	return 0
}

func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

func requireGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "end of the program", func() bool { return gone(pid) })
}

// hanging returns a world whose command hangs in the verbs that the file names.
func hanging(t *testing.T, w *world) (hung *world, verbs string) {
	verbs = filepath.Join(t.TempDir(), "verbs")
	require.NoError(t, os.WriteFile(verbs, nil, 0o644))
	hung = behind(t, w, `hung=$(cat "`+verbs+`")
for word in "$@"; do
  case " $hung " in *" $word "*) sleep 1000;; esac
done
exec "$@"`)
	return hung, verbs
}

// behind returns a world whose command is called by a script of the same name.
func behind(t *testing.T, w *world, lines string) *world {
	script := filepath.Join(t.TempDir(), w.String())
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/bash\n"+lines+"\n"), 0o755))
	wrapped := *w.Runtime
	wrapped.command = append([]string{script}, w.command...)
	return &world{Runtime: &wrapped, image: w.image, label: w.label}
}

func TestKillingWorksWhereTheCommandHangs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		hung, verbs := hanging(t, w)
		c, said := hung.start(t, Spec{Arguments: []string{"ignore="}})
		said.await(t, "ready")
		pid := c.process.Pid
		hung.patience = 3 * time.Second
		require.NoError(t, os.WriteFile(verbs, []byte("kill rm container"), 0o644))
		require.NoError(t, syscall.Kill(-c.attached.cmd.Process.Pid, syscall.SIGSTOP), "the attached command hangs, too")
		require.NoError(t, c.Signal(t.Context(), syscall.SIGKILL))
		_, err := c.Wait(t.Context())
		require.ErrorIs(t, err, errNoAnswer)
		requireGone(t, pid)
		require.ErrorContains(t, c.Remove(t.Context()), w.String()+" rm: no answer within 3s")
		hung.patience = time.Minute
		require.NoError(t, os.WriteFile(verbs, nil, 0o644))
		require.NoError(t, c.Remove(t.Context()))
		w.requireNothing(t)
	})
}

func TestACommandThatHangsInTheStartIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		hung, verbs := hanging(t, w)
		hung.patience = 3 * time.Second
		verbsOfAStart := []string{"inspect", "create", "start"}
		if w.podman {
			verbsOfAStart = append(verbsOfAStart, "init")
		}
		for _, verb := range verbsOfAStart {
			require.NoError(t, os.WriteFile(verbs, []byte(verb), 0o644))
			_, err := hung.Start(t.Context(), Spec{Name: w.name(), Image: w.image, Labels: w.labels()})
			require.ErrorIs(t, err, errNoAnswer)
			require.ErrorContains(t, err, "no answer within 3s")
			if left := w.left(t); len(left) > 0 {
				require.ErrorContains(t, err, "it may be left behind")
			}
			require.NoError(t, w.Sweep(t.Context(), w.label))
		}
	})
}

// A call that is cut short after it has made something is undone.
func TestWhatACreateThatFailedHasMadeIsRemoved(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		forgetful := behind(t, w, `"$@"
for word in "$@"; do
  case "$word" in create) echo "Error: lost" >&2; exit 1;; esac
done`)
		_, err := forgetful.Start(t.Context(), Spec{Name: w.name(), Image: w.image, Labels: w.labels()})
		require.ErrorContains(t, err, w.String()+" create: lost")
		w.requireNothing(t)
		_, err = forgetful.Network(t.Context(), NetworkSpec{Name: w.name(), Labels: w.labels()})
		require.ErrorContains(t, err, w.String()+" network: lost")
		w.requireNothing(t)
	})
}
