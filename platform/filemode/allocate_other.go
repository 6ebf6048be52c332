//go:build !linux

package filemode

import "os"

// allocate gives the file its size.
func allocate(file *os.File, size int64) error { return file.Truncate(size) }
