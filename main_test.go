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
		case "map writes":
			m := map[int]int{}
			for range 4 {
				go func() {
					for i := range 1 << 30 {
						m[i%10] = i
					}
				}()
			}
			select {}
		case "wait", "ignore":
			fmt.Println("waiting")
			<-ctx.Done()
			if mode == "ignore" {
				fmt.Println("ignoring")
				select {}
			}
			return context.Cause(ctx)
		default:
			if end, ok := ends[mode]; ok {
				return end(ctx, job)
			}
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
		{"panic elsewhere", 2, "AlgorithmError: the process ended abruptly"},
		{"map writes", 2, "AlgorithmError: the process ended abruptly"},
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
				require.NotContains(t, text, "ClientError")
			}
		})
	}
}

func TestSIGTERMStopsWellAndASecondOneExits(t *testing.T) {
	base := tree(t, nil)
	cmd, log := start(t, base, "wait")
	expectLine(t, log, "waiting")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	cmd.Wait()
	require.Zero(t, cmd.ProcessState.ExitCode())
	require.NoFileExists(t, base+"/output/failure")

	cmd, log = start(t, base, "ignore")
	expectLine(t, log, "waiting")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	expectLine(t, log, "ignoring") // the first one has arrived
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	cmd.Wait()
	require.Equal(t, 128+15, cmd.ProcessState.ExitCode())
	require.Equal(t, "AlgorithmError: the process ended abruptly", failure(t, base))
}

// start starts a container and returns its log.
func start(t *testing.T, base, mode string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := command(t, base, mode)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewReader(out)
}

func expectLine(t *testing.T, log *bufio.Reader, want string) {
	t.Helper()
	line, err := log.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, want+"\n", line)
}
