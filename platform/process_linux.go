package platform

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
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
// tree, and looks again for what they have started; not for ever.
func killStrays(tree string) {
	for range 500 {
		if !killFound(tree) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func killFound(tree string) (found bool) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if environ, err := os.ReadFile(file); err == nil && belongs(environ, tree) {
			syscall.Kill(pid, syscall.SIGKILL)
			found = true
		}
	}
	return found
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
