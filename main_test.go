package algospec_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
)

// container plays a training container: this test binary, started again with a mode.
func container(mode string) {
	algospec.Main(func(ctx context.Context, job *algospec.Job, p struct{}) error {
		switch mode {
		case "panic":
			panic("at the disco")
		case "panic elsewhere":
			go func() { panic("in a goroutine") }()
			select {}
		case "wait", "ignore":
			fmt.Println("waiting")
			<-ctx.Done()
			if mode == "ignore" {
				fmt.Println("ignoring")
				select {}
			}
			return context.Cause(ctx)
		}
		return job.Model.Save("model", bytes.NewReader([]byte(mode)))
	})
}

// command returns a container that is ready to start.
func command(t *testing.T, base, mode string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "train", "and", "more")
	cmd.Env = []string{"ALGOSPEC_TEST_CONTAINER=" + mode, "SAGEMAKER_BASE_DIR=" + base, "GORACE=atexit_sleep_ms=0"}
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Kill()
		}
	})
	return cmd
}

func TestMainExitsWithTheDocumentedStatus(t *testing.T) {
	for _, c := range []struct {
		mode   string
		status int
		want   string // how the failure file begins
	}{
		{"save", 0, ""},
		{"panic", 1, "AlgorithmError: panic: at the disco, in github.com/algospec/algospec_test."},
		{"panic elsewhere", 2, "panic: in a goroutine\n\ngoroutine "},
	} {
		t.Run(c.mode, func(t *testing.T) {
			base := tree(t, nil)
			cmd := command(t, base, c.mode)
			log, _ := cmd.CombinedOutput()
			require.Equal(t, c.status, cmd.ProcessState.ExitCode(), "%s", log)
			text := failure(t, base)
			require.Equal(t, c.want, text[:min(len(text), len(c.want))])
			if c.want == "" {
				require.NoFileExists(t, base+"/output/failure")
			} else {
				require.Contains(t, text, "main_test.go")
			}
		})
	}
}

func TestSIGTERMStopsWellAndASecondOneExits(t *testing.T) {
	base := tree(t, nil)
	cmd := startAndWait(t, base, "wait")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	cmd.Wait()
	require.Zero(t, cmd.ProcessState.ExitCode())
	require.NoFileExists(t, base+"/output/failure")

	cmd = startAndWait(t, base, "ignore")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	time.Sleep(50 * time.Millisecond) // two signals at once may arrive as one
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	cmd.Wait()
	require.Equal(t, 128+15, cmd.ProcessState.ExitCode())
}

// startAndWait starts a container that prints that it is waiting, and returns when it has.
func startAndWait(t *testing.T, base, mode string) *exec.Cmd {
	t.Helper()
	cmd := command(t, base, mode)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "waiting\n", line)
	return cmd
}
