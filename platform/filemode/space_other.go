//go:build !linux && !darwin

package filemode

import (
	"errors"
	"io/fs"
	"syscall"
)

func space(string) int64 { return -1 }

func allocated(fs.FileInfo) int64 { return 0 }

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) }
