package fastfile_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tasks["mmap"] = childMmap
	tasks["read"] = childRead
}

// startChild runs a task in another process and returns it when it has printed
// a line. It ends when its standard input does, or the test.
func startChild(t *testing.T, args ...string) (process *exec.Cmd, line string) {
	process = exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), childTask+"="+strings.Join(args, "\n"))
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	require.NoError(t, err)
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		in.Close()
		process.Wait()
	})
	_, err = fmt.Fscanln(out, &line)
	require.NoError(t, err)
	return process, line
}

// childMmap prints the hash of a file that it maps, having touched its pages
// from the last to the first.
func childMmap(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	touched := byte(0)
	for i := len(mapped) - 1; i >= 0; i -= 4096 {
		touched ^= mapped[i]
	}
	fmt.Printf("%x\n", sha256.Sum256(mapped))
	return waitForEnd()
}

// childRead says that it is going to read a page of a file, opened with the
// given flags, and reads it.
func childRead(args []string) error {
	flags, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	file, err := unix.Open(args[0], flags, 0)
	if err != nil {
		return err
	}
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // aligned
	if err != nil {
		return err
	}
	fmt.Println("reading")
	_, err = unix.Read(file, page)
	return err
}
