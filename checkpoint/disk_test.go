package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing/fstest"

	"github.com/algospec/algospec/internal/atomicfile"
)

// A crashDisk is a disk of one directory. It fails where a test wants it to, and in a crash it
// forgets, at random, what was not synced: of a file's bytes, and of a directory's names.
type crashDisk struct {
	names  map[string]*inode
	synced map[string]*inode // as the last sync of the directory left them
	locked bool

	calls int
	fail  func(call int) error // nil never fails
	dead  bool                 // the machine has crashed: all fails
}

type inode struct{ data, synced []byte }

var errCrashed = errors.New("the machine has crashed")

func newCrashDisk() *crashDisk {
	return &crashDisk{names: map[string]*inode{}, synced: map[string]*inode{}}
}

// call counts a call and returns the error that it shall have.
func (d *crashDisk) call() error {
	if d.dead {
		return errCrashed
	}
	d.calls++
	if d.fail == nil {
		return nil
	}
	return d.fail(d.calls)
}

// failAt has one call fail, from now on.
func (d *crashDisk) failAt(call int) {
	d.calls = 0
	d.fail = func(n int) error {
		if n == call {
			return syscall.EIO
		}
		return nil
	}
}

// crashAt has the machine crash instead of a call.
func (d *crashDisk) crashAt(call int) {
	d.calls = 0
	d.fail = func(n int) error {
		if n == call {
			d.dead = true
			return errCrashed
		}
		return nil
	}
}

// restart is what is left after a crash.
func (d *crashDisk) restart(random *rand.Rand) {
	all := slices.Sorted(maps.Keys(d.names))
	for name := range d.synced {
		if _, ok := d.names[name]; !ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	left := map[string]*inode{}
	for _, name := range all {
		from := d.synced
		if random.IntN(2) == 0 {
			from = d.names
		}
		if node, ok := from[name]; ok {
			left[name] = node.afterCrash(random)
		}
	}
	*d = crashDisk{names: left, synced: maps.Clone(left)}
}

// afterCrash returns the file with what was synced, or anything if it has been written to since.
func (n *inode) afterCrash(random *rand.Rand) *inode {
	data := bytes.Clone(n.synced)
	if !bytes.Equal(n.data, n.synced) {
		switch size := random.IntN(len(n.data) + 1); random.IntN(3) {
		case 0: // the beginning
			data = bytes.Clone(n.data[:size])
		case 1: // the size, and nothing in it
			data = make([]byte, len(n.data))
		case 2: // the size, and some of the blocks
			data = bytes.Clone(n.data)
			clear(data[:size])
		}
	}
	return &inode{data, bytes.Clone(data)}
}

func (d *crashDisk) MkdirAll(string) error { return d.call() }

func (d *crashDisk) Lock(string) (io.Closer, error) {
	if err := d.call(); err != nil {
		return nil, err
	}
	if d.locked {
		return nil, ErrLocked
	}
	d.locked = true
	return unlock{d}, nil
}

type unlock struct{ d *crashDisk }

func (u unlock) Close() error { u.d.locked = false; return nil }

func (d *crashDisk) ReadDir(string) ([]fs.DirEntry, error) {
	if err := d.call(); err != nil {
		return nil, err
	}
	return fs.ReadDir(d.fs(), ".")
}

func (d *crashDisk) fs() fstest.MapFS {
	files := fstest.MapFS{}
	for name, node := range d.names {
		files[name] = &fstest.MapFile{Data: node.data}
	}
	return files
}

func (d *crashDisk) Open(path string) (fs.File, error) {
	if err := d.call(); err != nil {
		return nil, err
	}
	return d.fs().Open(filepath.Base(path))
}

func (d *crashDisk) Create(path string) (atomicfile.File, error) {
	if err := d.call(); err != nil {
		return nil, err
	}
	node := &inode{}
	d.names[filepath.Base(path)] = node
	return &crashFile{d, node}, nil
}

type crashFile struct {
	d    *crashDisk
	node *inode
}

// Write writes half when it fails, as a full disk does.
func (f *crashFile) Write(p []byte) (int, error) {
	n, err := len(p), f.d.call()
	if err != nil {
		n /= 2
	}
	f.node.data = append(f.node.data, p[:n]...)
	return n, err
}

func (f *crashFile) Sync() error {
	err := f.d.call()
	if err == nil {
		f.node.synced = bytes.Clone(f.node.data)
	}
	return err
}

func (f *crashFile) Close() error { return f.d.call() }

func (d *crashDisk) Rename(from, to string) error {
	if err := d.call(); err != nil {
		return err
	}
	d.names[filepath.Base(to)] = d.names[filepath.Base(from)]
	delete(d.names, filepath.Base(from))
	return nil
}

func (d *crashDisk) Remove(path string) error {
	err := d.call()
	if err == nil {
		delete(d.names, filepath.Base(path))
	}
	return err
}

func (d *crashDisk) SyncDir(string) error {
	err := d.call()
	if err == nil {
		d.synced = maps.Clone(d.names)
	}
	return err
}
