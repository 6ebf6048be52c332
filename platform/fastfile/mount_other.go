//go:build !linux

package fastfile

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/algospec/algospec/platform/s3stream"
)

// Mount is for Linux only; elsewhere it returns an error that wraps
// errors.ErrUnsupported. See [New].
func Mount(ctx context.Context, dir string, client s3stream.Client, files []s3stream.File, opts Options) (*FS, error) {
	return nil, fmt.Errorf("mount %s: FastFile mode needs FUSE, which this program uses on Linux only, not on %s: %w",
		dir, runtime.GOOS, errors.ErrUnsupported)
}

// Detach does nothing, for nothing was mounted.
func Detach(dir string) error { return nil }
