//go:build !linux

package filemode

import "errors"

func bindReadOnly(dir, target string) (undo func() error, err error) {
	return nil, errors.ErrUnsupported
}
