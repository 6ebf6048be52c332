//go:build linux || darwin

package filemode

import (
	"errors"
	"io/fs"
	"math"
	"math/bits"
	"syscall"

	"golang.org/x/sys/unix"
)

// space returns the bytes that are free at dir for anybody; -1 if not known.
func space(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Blocks == 0 {
		return -1
	}
	high, free := bits.Mul64(uint64(s.Bavail), uint64(s.Bsize))
	if high > 0 || free > math.MaxInt64 { // as EFS has it
		return math.MaxInt64
	}
	return int64(free)
}

// allocated returns the bytes that a file takes of its file system.
func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512
	}
	return 0
}

// full says whether a file system or a quota has no room left.
func full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
