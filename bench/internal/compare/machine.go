package compare

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine says where a run took place: the processor, how many of it this process may use, and the load.
func Machine() string {
	model := "processor"
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", model, runtime.NumCPU(), Load())
}

// Load says how busy the machine is.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:2], " ") + " of the last 1 and 5 minutes"
}
