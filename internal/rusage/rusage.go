//go:build unix

// Package rusage reads what the system counts of a process.
package rusage

import (
	"runtime"
	"syscall"
	"time"
)

// MaxRSS returns the peak memory in bytes.
func MaxRSS(usage *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss) // elsewhere it is in kilobytes
	}
	return int64(usage.Maxrss) << 10
}

// Self returns the peak memory of this process in bytes, 0 where the system does not tell.
func Self() int64 {
	if peak := ownPeak(); peak > 0 {
		return peak
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return MaxRSS(&usage)
}

// Time returns the time of the processor that this process has used, in all its threads.
func Time() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
