// Package leaks finds the goroutines that tests leave, as goleak does, and more patiently: goleak waits for less than half
// a second, in which a busy machine may not have let a goroutine run that is about to end.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is for machines that have more to do.
const patience = 30 * time.Second

// Main runs the tests of a package, as goleak.VerifyTestMain does: it fails where a goroutine is left.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, "leaks: after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find returns an error that shows the goroutines that are left when the time is over, as goleak.Find does.
func Find(options ...goleak.Option) error {
	return find(patience, options...)
}

func find(patience time.Duration, options ...goleak.Option) error {
	for deadline := time.Now().Add(patience); ; {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
