package platform

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/pipesize"
	"github.com/algospec/algospec/internal/poll"
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
	opening *opening
}

// makeFIFO makes the pipe of an epoch in the directory workshop and moves it to its path.
func makeFIFO(w *watcher, workshop, path string, epoch int, opens *atomic.Int64) (_ *fifo, err error) {
	f := &fifo{path: fmt.Sprintf("%s_%d", path, epoch), watcher: w, watch: -1, opening: newOpening(opens)}
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
	if err = os.Chmod(unseen, 0o666); err != nil { // whatever the umask (container contract, register row 25)
		return nil, err
	}
	if f.file, err = openWithoutReader(unseen); err != nil {
		return nil, err
	}
	pipesize.Enlarge(f.file)
	if f.watch, err = w.add(unseen, f.opening); err != nil {
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
	case <-f.opening.done:
		return f.file, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// abandoned reports whether there is no reader any more, once there was one.
func (f *fifo) abandoned() (gone bool) {
	if conn, err := f.file.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { gone = readerless(fd) })
	}
	return gone
}

// readerless reports whether nobody could read what is written to a pipe: poll(2) has an error then.
func readerless(fd uintptr) bool {
	events, err := poll.Now(fd, 0)
	return err == nil && events&unix.POLLERR != 0
}

// whenAbandoned calls do, at most once, when the last reader goes. A write would tell, too, but there
// is none while the data for it are awaited. After stop do is not called.
func (f *fifo) whenAbandoned(do func()) (stop func()) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		conn, err := f.file.SyscallConn()
		if err != nil {
			return
		}
		// The runtime counts an error, which the reader's going is, as readiness to read; or as an
		// error of the wait, where nothing else happens to the pipe.
		conn.Read(readerless)
		if f.abandoned() {
			do()
		}
	}()
	return func() {
		f.file.SetReadDeadline(time.Unix(1, 0))
		<-stopped
	}
}

// unread returns how many bytes are in the pipe.
func (f *fifo) unread() (n int) {
	if conn, err := f.file.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}

// close removes the pipe and then closes the writing end, which is the end of the reader's stream: a
// reader at its end that opens this epoch once more finds nothing, and does not wait for ever.
func (f *fifo) close() {
	if f.watch >= 0 {
		f.watcher.remove(f.watch)
	}
	os.Remove(f.path)
	if f.file != nil {
		f.file.Close()
	}
}

// A watcher hears of the opening of pipes. There is one for a job: the system has few.
type watcher struct {
	events *os.File // an inotify descriptor
	ended  chan struct{}

	mu       sync.Mutex
	openings map[int32]*opening // by watch descriptor
}

func newWatcher() (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	w := &watcher{events: os.NewFile(uintptr(fd), "inotify"), ended: make(chan struct{}), openings: map[int32]*opening{}}
	go w.run()
	return w, nil
}

// add has the opening happen each time that somebody opens the file, but for those that the kernel
// takes together.
func (w *watcher) add(path string, opening *opening) (watch int32, err error) {
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
	w.openings[int32(id)] = opening
	return int32(id), nil
}

func (w *watcher) remove(watch int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.openings, watch)
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
			if opening := w.openings[watch]; opening != nil && mask&unix.IN_OPEN != 0 {
				opening.happen()
			}
		}
		w.mu.Unlock()
	}
}

func (w *watcher) close() {
	w.events.Close()
	<-w.ended
}
