package platform

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// childAttributes put the child in a process group of its own, and let it die with the platform, even
// one that is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// onOwnThread calls f on a thread that ends with it, as it may be in a namespace of its own then.
func onOwnThread(f func()) {
	var call sync.WaitGroup
	call.Go(func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the first thread never ends, and is the process to all others
			defer runtime.UnlockOSThread()
			onOwnThread(f) // another one, as this is taken
			return
		}
		f()
	})
	call.Wait()
}

// start starts the child from the calling thread. Where the job has several hosts and the platform may
// (as root), the child has a mount namespace of its own, in which /etc/hosts names them.
func (h *host) start(cmd *exec.Cmd) error {
	if len(h.run.members) > 1 {
		if err := overlayHosts(h.run.tree.names()); err != nil {
			h.run.job.logger().Info("the hosts' names resolve only for programs that know "+hostsVariable, "host", h.name, "error", err)
		}
	}
	return cmd.Start()
}

// overlayHosts gives the calling thread a mount namespace with another /etc/hosts.
func overlayHosts(file string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	// What is mounted or unmounted outside later is here, too, but not the reverse.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	return os.NewSyscallError("mount", unix.Mount(file, "/etc/hosts", "", unix.MS_BIND, ""))
}

// killStrays kills the processes of the host's tree, which their environment names, that are left:
// those that have made themselves a session. It waits until they are gone, as they may write to the
// tree, and looks at what has come meanwhile, which they may have started; not for ever.
func killStrays(tree string) {
	others := map[string]bool{} // processes that are none of the tree's, as is nothing that they start
	looks := map[string]int{}   // at processes that leave it open
	for deadline := time.Now().Add(strayLimit); time.Now().Before(deadline); {
		processes, _ := filepath.Glob("/proc/[0-9]*")
		unknown, again := false, false
		for _, process := range processes {
			if others[process] {
				continue
			}
			unknown = true
			switch is, allowed := look(process, tree); {
			case is == stray:
				pid, _ := strconv.Atoi(filepath.Base(process))
				syscall.Kill(pid, syscall.SIGKILL)
				again = true
			case looks[process] < allowed:
				looks[process]++
				again = true
			default:
				others[process] = true
			}
		}
		switch {
		case !unknown:
			return
		case again:
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// strayLimit is for processes that the kernel does not let end.
const strayLimit = 10 * time.Second

// A sighting is what a look at a process has shown.
type sighting int

const (
	other sighting = iota
	stray
	open // whether it is one
)

// look looks at a process, by its directory in /proc; where that leaves it open, it says how many looks are worth it.
// In execve(2) a process has no environment for a moment, and one that is read meanwhile ends early. So only as
// much as the kernel says there is counts.
func look(process, tree string) (is sighting, looks int) {
	if filepath.Base(process) == strconv.Itoa(os.Getpid()) {
		return other, 0
	}
	environ, err := os.ReadFile(filepath.Join(process, "environ"))
	switch {
	case err != nil:
		return other, 0
	case belongs(environ, tree):
		return stray, 0
	}
	start, end, err := environmentBounds(process)
	switch {
	case err != nil:
		return other, 0
	case start < end && end-start == uint64(len(environ)):
		return other, 0
	case start == end && start > 0: // none, or it is about to be set
		return open, 3
	}
	if _, err := os.Readlink(filepath.Join(process, "exe")); err != nil { // the dead, and the kernel's, have none
		return other, 0
	}
	return open, 500
}

// environmentBounds returns the addresses between which a process has its environment: env_start and env_end of
// proc_pid_stat(5), 0 where it has no memory or a new one with nothing in it.
func environmentBounds(process string) (start, end uint64, err error) {
	stat, err := os.ReadFile(filepath.Join(process, "stat"))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the third on, which are counted from 1
	if len(fields) <= 51-3 {
		return 0, 0, errors.ErrUnsupported
	}
	start, err = strconv.ParseUint(fields[50-3], 10, 64)
	if err == nil {
		end, err = strconv.ParseUint(fields[51-3], 10, 64)
	}
	return start, end, err
}

// belongs reports whether an environment is that of a host whose tree is, or is below, this directory.
func belongs(environ []byte, tree string) bool {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		dir, ok := bytes.CutPrefix(variable, []byte("SAGEMAKER_BASE_DIR="))
		if ok && (string(dir) == tree || bytes.HasPrefix(dir, []byte(tree+"/"))) {
			return true
		}
	}
	return false
}
