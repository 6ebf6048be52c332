package rusage

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePeakOfAProcessIsNotThatOfItsParent(t *testing.T) {
	const child = "RUSAGE_TEST_CHILD"
	if os.Getenv(child) != "" {
		os.Stdout.WriteString(strconv.FormatInt(Self(), 10))
		os.Exit(0)
	}
	const size = 200 << 20
	memory := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		memory[i] = 1
	}
	require.Greater(t, Self(), int64(size))
	command := exec.Command(os.Args[0], "-test.run", t.Name())
	command.Env = append(os.Environ(), child+"=1")
	out, err := command.Output()
	require.NoError(t, err)
	peak, err := strconv.ParseInt(string(out), 10, 64)
	require.NoError(t, err)
	require.Positive(t, peak)
	require.Less(t, peak, int64(size/2))
	memory[0] = 2 // it was held until here
}
