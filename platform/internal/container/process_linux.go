package container

import (
	"os"
	"strconv"
	"strings"
)

// findProcess returns the process of a container, or nil where its number means another process here,
// as the engine is on another machine or in another namespace: control groups have the id in their
// names. The process is held, so that its number cannot come to mean another.
func findProcess(pid int, id string) *os.Process {
	if pid <= 0 {
		return nil
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil
	}
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil || !strings.Contains(string(groups), id) {
		process.Release()
		return nil
	}
	return process
}
