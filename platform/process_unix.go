//go:build unix && !linux

package platform

import (
	"os/exec"
	"syscall"
)

// childAttributes put the child in a process group of its own.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func onOwnThread(f func()) { f() }

func (h *host) start(cmd *exec.Cmd) error { return cmd.Start() }

// killStrays has no way here to find who has left the process group.
func killStrays(string) {}
