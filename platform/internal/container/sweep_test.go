package container

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// child is a platform that gets killed: it starts a container on a network, prints its process and
// waits.
func child(args []string) int {
	ctx := context.Background()
	r, err := Find(ctx, os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	key, value, _ := strings.Cut(args[1], "=")
	labels := map[string]string{key: value}
	if _, err := r.Network(ctx, NetworkSpec{Name: args[2], Labels: labels}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := r.Start(ctx, Spec{Name: args[2], Image: args[0], Arguments: []string{"ignore="}, Network: args[2], Alias: "algo-1", Labels: labels})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.process.Pid, c.attached.cmd.Process.Pid)
	c.Wait(ctx)
	return 0
}

func TestSweepRemovesWhatAKilledPlatformLeft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		platform := exec.Command(os.Args[0])
		flags := w.flags[:len(w.flags):len(w.flags)]
		if w.podman { // which would ask first; docker kills, and podman behind docker's command asks
			flags = append(flags, "--stop-timeout", "600")
		}
		platform.Env = append(os.Environ(),
			childTask+"="+strings.Join([]string{w.image, w.label, w.name()}, "\n"), RuntimeVariable+"="+strings.Join(w.command, " "),
			FlagsVariable+"="+strings.Join(flags, " "))
		platform.Stderr = os.Stderr
		out, err := platform.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, platform.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, platform.Process.Kill())
		platform.Wait()
		require.Len(t, w.left(t), 2)

		require.NoError(t, w.Sweep(t.Context(), "algospec.test=another"))
		require.Len(t, w.left(t), 2)
		began := time.Now() // podman's containers get ten minutes after SIGTERM, if they are asked to end
		require.NoError(t, w.Sweep(t.Context(), w.label))
		require.Less(t, time.Since(began), 5*time.Minute, "it was asked to end, and not killed at once")
		w.requireNothing(t)
		for _, word := range strings.Fields(line) {
			pid, err := strconv.Atoi(word)
			require.NoError(t, err)
			requireGone(t, pid) // the program, and the command that was attached
		}
		require.NoError(t, w.Sweep(t.Context(), w.label), "of nothing")
	})
}
