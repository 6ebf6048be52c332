//go:build unix && !linux

package platform

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// A fifo is one named pipe that is open for writing as soon as a reader has opened it.
//
// The open is a blocking one, in a goroutine: the kernel counts the opens of readers, so that one
// which opens the pipe and closes it at once is seen, once the goroutine waits. Linux can do
// better; see the other file.
type fifo struct {
	path   string
	opened chan struct{} // closed when file and err are there
	file   *os.File
	err    error
	once   sync.Once
}

func makeFIFO(_ *watcher, _, path string, epoch int) (*fifo, error) {
	f := &fifo{path: fmt.Sprintf("%s_%d", path, epoch), opened: make(chan struct{})}
	if err := syscall.Mkfifo(f.path, 0o666); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: f.path, Err: err}
	}
	go func() {
		defer close(f.opened)
		f.file, f.err = openForWriting(f.path)
	}()
	return f, nil
}

// openForWriting waits for a reader. The file it returns can be interrupted by a deadline, which
// one opened by os.OpenFile without O_NONBLOCK cannot.
func openForWriting(path string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EINTR {
			continue
		}
		if err == nil {
			err = syscall.SetNonblock(fd, true)
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		file := os.NewFile(uintptr(fd), path)
		return file, nil
	}
}

// writer returns the writing end once there is a reader.
func (f *fifo) writer(ctx context.Context) (*os.File, error) {
	select {
	case <-f.opened:
		return f.file, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close closes the writing end, which is the end of the reader's stream, and removes the pipe.
func (f *fifo) close() {
	f.once.Do(func() {
		// A reader of our own ends the wait for one.
		reader, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			<-f.opened
			reader.Close()
		}
		if f.file != nil {
			f.file.Close()
		}
		os.Remove(f.path)
	})
}

// A watcher is of use on Linux only.
type watcher struct{}

func newWatcher() (*watcher, error) { return &watcher{}, nil }

func (*watcher) close() {}
