//go:build unix

// Package fifotest plays the writing end of a named pipe, as simply as can be, for benchmarks.
package fifotest

import (
	"os"
	"syscall"
	"testing"
)

// Serve makes a named pipe and, in a goroutine, waits for its reader and writes data so many times,
// in calls of 256 KiB.
func Serve(tb testing.TB, path string, data []byte, times int) {
	tb.Helper()
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		tb.Fatal(err)
	}
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			tb.Error(err)
			return
		}
		defer w.Close()
		for range times {
			for rest := data; len(rest) > 0; {
				n, err := w.Write(rest[:min(len(rest), 256<<10)])
				if err != nil {
					tb.Error(err)
					return
				}
				rest = rest[n:]
			}
		}
	}()
}
