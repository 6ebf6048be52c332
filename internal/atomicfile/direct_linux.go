package atomicfile

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A direct is a file that is written past the page cache (open(2), O_DIRECT), so that a large one takes no
// processor's time for copies from those who compute. It gathers what it is given in a block, as the offsets, lengths and
// memory of such writes must be aligned. What is left in the end, and all where the file system wants no
// such writes, goes the usual way.
type direct struct {
	file  *os.File
	block []byte
}

const blockSize = 1 << 20

// blocks are aligned, as the runtime gives out memory of this size in whole pages.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

func create(path string) (File, error) {
	const flags, mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC, 0o644
	file, err := os.OpenFile(path, flags|unix.O_DIRECT, mode)
	if errors.Is(err, syscall.EINVAL) {
		file, err = os.OpenFile(path, flags, mode)
	}
	if err != nil {
		return nil, err
	}
	return &direct{file, blocks.Get().(*[blockSize]byte)[:0]}, nil
}

func (d *direct) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+blockSize-len(d.block))]
		d.block = append(d.block, part...)
		n += len(part)
		if len(d.block) == blockSize {
			if err := d.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes the block.
func (d *direct) flush() error {
	block := d.block
	d.block = block[:0]
	switch len(block) {
	case 0:
		return nil
	case blockSize:
		n, err := d.file.Write(block)
		if !errors.Is(err, syscall.EINVAL) {
			return err
		}
		block = block[n:]
	}
	if err := d.buffered(); err != nil {
		return err
	}
	_, err := d.file.Write(block)
	return err
}

// buffered makes the following writes go the usual way.
func (d *direct) buffered() error {
	conn, err := d.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		var flags int
		if flags, failed = unix.FcntlInt(fd, unix.F_GETFL, 0); failed == nil {
			_, failed = unix.FcntlInt(fd, unix.F_SETFL, flags&^unix.O_DIRECT)
		}
	})
	return errors.Join(err, failed)
}

func (d *direct) Sync() error {
	return errors.Join(d.flush(), d.file.Sync())
}

func (d *direct) Close() error {
	err := errors.Join(d.flush(), d.file.Close())
	blocks.Put((*[blockSize]byte)(d.block[:blockSize]))
	d.block = nil
	return err
}
