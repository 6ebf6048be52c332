//go:build !linux

package atomicfile

import "os"

func create(path string) (File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err // not a nil *os.File, which would be a File
	}
	return file, nil
}
