package platform_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

// Processes that begin others while they are looked for are taken away with all that they begin.
func TestSweepTakesAwayProcessesThatMultiply(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "algospec-job-1", "algo-1")
	require.NoError(t, os.MkdirAll(tree, 0o755))
	const parents = 3
	for range parents {
		cmd := exec.Command("sh", "-c", `i=0; while [ $i -lt 300 ]; do i=$((i+1)); (setsid sleep 60 &); echo > "$SAGEMAKER_BASE_DIR/$i"; done; sleep 60`)
		cmd.Env = append(os.Environ(), "SAGEMAKER_BASE_DIR="+tree)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { cmd.Wait() })
	}
	require.Eventually(t, func() bool { return len(processesOf(t, dir)) > 20 }, time.Minute, time.Millisecond)
	require.NoError(t, platform.Sweep(dir))
	require.Empty(t, processesOf(t, dir))
	require.NoDirExists(t, filepath.Dir(tree))
}
