package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/pipesize"
)

// A fifo is one named pipe and its writing end.
//
// The writing end is open before the algorithm can see the pipe, so that no reader ever takes
// "no writer yet" for the end, and inotify tells when a reader opens it: also one that closes it
// at once, which polling with O_NONBLOCK (ENXIO until there is a reader) would miss and then wait
// for the reader for ever, while the algorithm waits for the next pipe.
type fifo struct {
	path   string
	file   *os.File // the writing end
	events *os.File // an inotify descriptor: readable once a reader has opened the pipe
}

func makeFIFO(path string, epoch int) (_ *fifo, err error) {
	f := &fifo{path: fmt.Sprintf("%s_%d", path, epoch)}
	hidden := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s_%d", filepath.Base(path), epoch))
	if err := unix.Mkfifo(hidden, 0o666); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: hidden, Err: err}
	}
	defer func() {
		if err != nil {
			f.close()
			os.Remove(hidden)
		}
	}()
	if f.file, err = openWithoutReader(hidden); err != nil {
		return nil, err
	}
	pipesize.Enlarge(f.file)
	if f.events, err = watchOpens(hidden); err != nil {
		return nil, err
	}
	return f, os.Rename(hidden, f.path)
}

// openWithoutReader opens a pipe for writing, which takes a reader, and lets that go again.
func openWithoutReader(path string) (*os.File, error) {
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
}

func watchOpens(path string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("inotify_add_watch", err)
	}
	return os.NewFile(uintptr(fd), "inotify"), nil
}

// writer returns the writing end once a reader has come, or has come and gone.
func (f *fifo) writer(ctx context.Context) (*os.File, error) {
	release := context.AfterFunc(ctx, func() { f.events.SetReadDeadline(time.Unix(1, 0)) })
	defer release()
	var event [unix.SizeofInotifyEvent + unix.NAME_MAX + 1]byte
	if _, err := f.events.Read(event[:]); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return f.file, nil
}

// close closes the writing end, which is the end of the reader's stream, and removes the pipe.
func (f *fifo) close() {
	for _, file := range []*os.File{f.file, f.events} {
		if file != nil {
			file.Close()
		}
	}
	os.Remove(f.path)
}
