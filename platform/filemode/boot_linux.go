package filemode

import (
	"os"
	"strings"
)

// bootID names the run of the system since it last started; "" if it has no name.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}
