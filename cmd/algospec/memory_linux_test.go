package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The memory of the commands does not grow with their input.
func TestMemoryDoesNotGrowWithTheInput(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	block, err := rows([]string{"1000", "250"}) // 1 MB
	require.NoError(t, err)
	for _, args := range [][]string{
		{"records", "verify", "-"},
		{"records", "stat", "-"},
		{"records", "cat", "-"},
		{"records", "convert", "--from", "pbr", "--to", "pbr", "-", "-"},
	} {
		t.Run(args[1], func(t *testing.T) {
			few := peak(t, algospec(t, args...), block, 5)
			many := peak(t, algospec(t, args...), block, 40)
			t.Logf("%d KiB for 5 MB, %d KiB for 40 MB", few, many)
			require.Less(t, many, few+16<<10) // less than half of what was added; the race detector takes its part
		})
	}
}

var highWater = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// peak returns the memory, in KiB, that a command has taken when it has read so many blocks. The
// kernel's account of a process that has ended would begin with the memory of this one.
func peak(t *testing.T, cmd *exec.Cmd, block []byte, times int) int {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for range times {
		_, err := stdin.Write(block)
		require.NoError(t, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	match := highWater.FindSubmatch(status)
	require.NotNil(t, match)
	kib, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)
	return kib
}
