package platform

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"

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
	path    string
	file    *os.File // the writing end
	watcher *watcher
	watch   int32
	opened  chan struct{} // closed when a reader has opened the pipe
}

// makeFIFO makes the pipe of an epoch in the directory workshop and moves it to its path.
func makeFIFO(w *watcher, workshop, path string, epoch int) (_ *fifo, err error) {
	f := &fifo{path: fmt.Sprintf("%s_%d", path, epoch), watcher: w, watch: -1, opened: make(chan struct{})}
	unseen := filepath.Join(workshop, filepath.Base(f.path))
	if err := unix.Mkfifo(unseen, 0o666); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: unseen, Err: err}
	}
	defer func() {
		if err != nil {
			f.close()
			os.Remove(unseen)
		}
	}()
	if f.file, err = openWithoutReader(unseen); err != nil {
		return nil, err
	}
	pipesize.Enlarge(f.file)
	if f.watch, err = w.add(unseen, f.opened); err != nil {
		return nil, err
	}
	return f, os.Rename(unseen, f.path)
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

// writer returns the writing end once a reader has come, or has come and gone.
func (f *fifo) writer(ctx context.Context) (*os.File, error) {
	select {
	case <-f.opened:
		return f.file, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close closes the writing end, which is the end of the reader's stream, and removes the pipe.
func (f *fifo) close() {
	if f.watch >= 0 {
		f.watcher.remove(f.watch)
	}
	if f.file != nil {
		f.file.Close()
	}
	os.Remove(f.path)
}

// A watcher hears of the opening of pipes. There is one for a job: the system has few.
type watcher struct {
	events *os.File // an inotify descriptor
	ended  chan struct{}

	mu     sync.Mutex
	opened map[int32]chan struct{} // by watch descriptor
}

func newWatcher() (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	w := &watcher{events: os.NewFile(uintptr(fd), "inotify"), ended: make(chan struct{}), opened: map[int32]chan struct{}{}}
	go w.run()
	return w, nil
}

// add has opened closed when somebody opens the file.
func (w *watcher) add(path string, opened chan struct{}) (watch int32, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	conn, err := w.events.SyscallConn()
	if err != nil {
		return -1, err
	}
	var id int
	var failed error
	err = conn.Control(func(fd uintptr) { id, failed = unix.InotifyAddWatch(int(fd), path, unix.IN_OPEN) })
	if failed != nil {
		err = os.NewSyscallError("inotify_add_watch", failed)
	}
	if err != nil {
		return -1, err
	}
	w.opened[int32(id)] = opened
	return int32(id), nil
}

func (w *watcher) remove(watch int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.opened, watch)
	if conn, err := w.events.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { unix.InotifyRmWatch(int(fd), uint32(watch)) })
	}
}

// run takes events until close. Those of files carry no name, and have one size.
func (w *watcher) run() {
	defer close(w.ended)
	var buffer [64 * unix.SizeofInotifyEvent]byte
	for {
		n, err := w.events.Read(buffer[:])
		if err != nil {
			return
		}
		w.mu.Lock()
		for event := buffer[:n]; len(event) >= unix.SizeofInotifyEvent; event = event[unix.SizeofInotifyEvent:] {
			watch, mask := int32(binary.NativeEndian.Uint32(event)), binary.NativeEndian.Uint32(event[4:])
			if opened := w.opened[watch]; opened != nil && mask&unix.IN_OPEN != 0 {
				close(opened)
				delete(w.opened, watch)
			}
		}
		w.mu.Unlock()
	}
}

func (w *watcher) close() {
	w.events.Close()
	<-w.ended
}
