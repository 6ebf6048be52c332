package data

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/internal/pipesize"
)

// deliver writes a stream to a path, or to stdout where that is "". A file is there whole or not at
// all. A reader who wants no more of a pipe ends the stream, which is no error.
func deliver(ctx context.Context, to string, stdout io.Writer, stream io.WriterTo) error {
	signal.Ignore(syscall.SIGPIPE) // or else the write to a pipe that nobody reads would end the program
	if to == "" {
		pipe := reopen(stdout)
		if pipe == nil {
			return write(stdout, stream)
		}
		return writePipe(ctx, pipe, stream)
	}
	if whole, err := filepath.EvalSymlinks(to); err == nil {
		to = whole // a link stays one, /dev/stdout above all
	}
	if info, err := os.Stat(to); err != nil || info.Mode().IsRegular() {
		return atomicfile.Write(to, stream)
	}
	file, err := openSpecial(ctx, to)
	if err != nil {
		return err
	}
	return writePipe(ctx, file, stream)
}

func write(to io.Writer, stream io.WriterTo) error {
	_, err := stream.WriteTo(to)
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// writePipe writes to what may block, which ends with ctx, and closes it.
func writePipe(ctx context.Context, file *os.File, stream io.WriterTo) error {
	pipesize.Enlarge(file)
	stop := context.AfterFunc(ctx, func() { file.SetWriteDeadline(time.Unix(1, 0)) })
	err := write(file, stream)
	stop()
	return errors.Join(err, file.Close())
}

// reopen opens stdout anew if it is a pipe, or returns nil. The new one is non-blocking, so that a
// write can be interrupted and the kernel may move bytes into it; the old one others may use, too.
func reopen(stdout io.Writer) *os.File {
	if stdout != os.Stdout {
		return nil
	}
	if info, err := os.Stdout.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	// A named pipe whose reader has gone must not be waited for: a write will tell.
	pipe, err := os.OpenFile("/proc/self/fd/1", os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil // not Linux, a pipe of another user, or one without a reader
	}
	return pipe
}

// openSpecial opens a named pipe, which waits for its reader, or a device.
func openSpecial(ctx context.Context, path string) (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		opened <- result{file, err}
	}()
	select {
	case r := <-opened:
		return r.file, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
