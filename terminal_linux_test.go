package algospec_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec"
)

// terminal returns the two ends of one.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

func TestABarIsDrawnBelowTheLinesOnATerminal(t *testing.T) {
	master, slave := terminal(t)
	job := &algospec.Job{Stdout: slave}
	progress := job.Progress("rows", 4)
	time.Sleep(150 * time.Millisecond) // bars are drawn ten times a second
	progress.Add(2)
	job.Println("a line")
	progress.Add(2)
	progress.End()
	job.Println("the end")
	var text []byte
	for piece := make([]byte, 4096); !bytes.Contains(text, []byte("the end\r\n")); {
		n, err := master.Read(piece)
		require.NoError(t, err)
		text = append(text, piece[:n]...)
	}
	bar := `rows \[={15} {15}\] 50\.0 % of 4 \(\d+/s\)`
	full := `rows \[={30}\] 100\.0 % of 4 \(\d+/s\)`
	require.Regexp(t, `^\r\x1b\[K`+bar+`\r\x1b\[Ka line\r\n`+bar+`\r\x1b\[K`+full+`\r\nthe end\r\n$`, string(text))
}
