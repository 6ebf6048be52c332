//go:build unix

package filemode

import "syscall"

func setUmask(mask int) int { return syscall.Umask(mask) }
