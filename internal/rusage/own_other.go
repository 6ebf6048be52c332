//go:build unix && !linux

package rusage

func ownPeak() int64 { return 0 }
