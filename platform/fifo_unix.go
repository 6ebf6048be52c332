//go:build unix && !linux

package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// A fifo is one named pipe that is open for writing as soon as a reader has opened it.
//
// The open is a blocking one, in a goroutine: the kernel counts the opens of readers, so that one
// which opens the pipe and closes it at once is seen, once the goroutine waits. Linux can do
// better; see the other file.
type fifo struct {
	path    string
	waited  chan struct{} // closed when file and err are there
	file    *os.File
	err     error
	opening *opening
	closing atomic.Bool
}

func makeFIFO(_ *watcher, workshop, path string, epoch int, opens *atomic.Int64) (*fifo, error) {
	f := &fifo{path: fmt.Sprintf("%s_%d", path, epoch), waited: make(chan struct{}), opening: newOpening(opens)}
	unseen := filepath.Join(workshop, filepath.Base(f.path))
	if err := syscall.Mkfifo(unseen, 0o666); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: unseen, Err: err}
	}
	err := os.Chmod(unseen, 0o666) // whatever the umask (container contract, register row 25)
	if err == nil {
		err = os.Rename(unseen, f.path)
	}
	if err != nil {
		os.Remove(unseen)
		return nil, err
	}
	go func() {
		defer close(f.waited)
		f.file, f.err = openForWriting(f.path)
		if !f.closing.Load() {
			f.opening.happen()
		}
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
	case <-f.opening.done:
		return f.file, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// abandoned cannot tell; a write can.
func (*fifo) abandoned() bool { return false }

func (*fifo) whenAbandoned(func()) (stop func()) { return func() {} }

func (*fifo) unread() int { return 0 }

// close removes the pipe and then closes the writing end, which is the end of the reader's stream.
func (f *fifo) close() {
	// A reader of our own ends the wait for one.
	f.closing.Store(true)
	reader, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		<-f.waited
		reader.Close()
	}
	os.Remove(f.path)
	if f.file != nil {
		f.file.Close()
	}
}

// A watcher is of use on Linux only.
type watcher struct{}

func newWatcher() (*watcher, error) { return &watcher{}, nil }

func (*watcher) close() {}
