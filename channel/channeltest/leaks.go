package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// leaks finds the goroutines and descriptors that a test leaves, among those of others: the
// platform may run in the same process.
type leaks struct {
	label string          // every goroutine that the test starts inherits it
	files map[string]bool // open at the start
}

const labelKey = "channeltest"

var tests atomic.Int64

func watchLeaks() leaks {
	return leaks{label: fmt.Sprint("test ", tests.Add(1)), files: openFiles()}
}

func (l leaks) run(ctx context.Context, test func(context.Context) error) (err error) {
	pprof.Do(ctx, pprof.Labels(labelKey, l.label), func(ctx context.Context) { err = test(ctx) })
	return err
}

// patience is for what is about to end, on a machine that has more to do.
var patience = 30 * time.Second

// check returns an error that shows what is left.
func (l leaks) check() error {
	deadline := time.Now().Add(patience)
	for {
		err := errors.Join(l.goroutines(), l.descriptors())
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(time.Millisecond)
	}
}

// goroutines looks for the label in a profile, whose paragraphs are the stacks.
func (l leaks) goroutines() error {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err
	}
	label := fmt.Sprintf("%q:%q", labelKey, l.label)
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, label) && !strings.Contains(stack, "net/http.(*persistConn)") {
			return fmt.Errorf("a goroutine is left:\n%s", stack)
		}
	}
	return nil
}

func (l leaks) descriptors() error {
	for file := range openFiles() {
		if !l.files[file] {
			return fmt.Errorf("a descriptor is left: %s", file)
		}
	}
	return nil
}

// openFiles returns the descriptors of this process that read a file or a named pipe; none where
// the system does not tell.
func openFiles() map[string]bool {
	const dir = "/proc/self/fd"
	entries, _ := os.ReadDir(dir)
	files := map[string]bool{}
	for _, entry := range entries {
		path, err := os.Readlink(filepath.Join(dir, entry.Name()))
		if err == nil && filepath.IsAbs(path) && !strings.HasPrefix(path, "/proc/") && readOnly(entry.Name()) {
			files[entry.Name()+" of "+path] = true
		}
	}
	return files
}

func readOnly(descriptor string) bool {
	const accessMode = 3
	text, _ := os.ReadFile(filepath.Join("/proc/self/fdinfo", descriptor))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseInt(strings.TrimSpace(value), 8, 64)
			return err == nil && int(flags)&accessMode == os.O_RDONLY
		}
	}
	return false
}
