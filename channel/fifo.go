//go:build unix

package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/pipesize"
	"github.com/algospec/algospec/internal/poll"
)

// FIFO is the Source of a Pipe-mode channel: epoch n arrives through the named pipe Path_n
// (container contract, 2.3). A pipe can be read once and by one process.
type FIFO struct {
	Path string        // without the suffix, e.g. /opt/ml/input/data/train
	Wait time.Duration // how long to wait for a pipe that does not exist yet; 0 means 2 minutes
}

// Open waits until the epoch's pipe exists, and opens it without waiting for the platform: the
// first Read does that. The pipe's buffer is enlarged where the system allows it.
func (f FIFO) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	path := fmt.Sprintf("%s_%d", f.Path, epoch)
	if err := f.await(ctx, path); err != nil {
		return nil, err
	}
	// Without O_NONBLOCK the open would wait for the writer, and nothing could cancel it.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().Type() != fs.ModeNamedPipe {
		err = fmt.Errorf("%s is not a named pipe", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	pipesize.Enlarge(file)

	r := &fifoReader{ctx: ctx, file: file}
	r.release = context.AfterFunc(ctx, func() { file.SetReadDeadline(time.Unix(1, 0)) })
	return r, nil
}

// await returns when path exists: the contract promises no more than that it will.
func (f FIFO) await(ctx context.Context, path string) error {
	limit := f.Wait
	if limit == 0 {
		limit = 2 * time.Minute
	}
	began := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		_, err := os.Lstat(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if time.Since(began) >= limit {
			return fmt.Errorf("no pipe %s after %v", path, limit)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// A fifoReader reads one pipe.
type fifoReader struct {
	ctx     context.Context
	file    *os.File
	release func() bool
	started bool // the writer has come
}

func (r *fifoReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	if !r.started {
		if err := r.awaitWriter(); err != nil {
			return 0, r.cause(err)
		}
		r.started = true
	}
	n, err := r.file.Read(p)
	return n, r.cause(err)
}

// awaitWriter waits until a writer has sent something or has come and gone. Before that, read(2)
// of a pipe opened without blocking returns 0 bytes, which looks like the end; poll(2) can tell:
// Linux reports POLLHUP only after a writer was there.
func (r *fifoReader) awaitWriter() error {
	conn, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Read(func(fd uintptr) (ready bool) {
		events, err := poll.Now(fd, unix.POLLIN)
		if err != nil {
			failed = os.NewSyscallError("poll", err)
		}
		return events != 0 || failed != nil
	})
	return errors.Join(failed, err)
}

// cause replaces the error of a deadline that the context set.
func (r *fifoReader) cause(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return err
}

func (r *fifoReader) Close() error {
	r.release()
	return r.file.Close()
}
