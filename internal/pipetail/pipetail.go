// Package pipetail reads pipes that those may hold open who have nothing to say any more.
package pipetail

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// A Reader reads a pipe to its end or, where the pipe's read deadline comes first, to the end of what is in it by
// then: of a writer that has ended by the deadline nothing is lost, however late its reader comes to it. With
// the latter the error is os.ErrDeadlineExceeded.
type Reader struct {
	pipe *os.File
	late int // bytes read after the deadline
}

// NewReader returns a Reader of the pipe. What is read of that otherwise is lost to it.
func NewReader(pipe *os.File) *Reader { return &Reader{pipe: pipe} }

// limit is what a pipe holds at most, unless somebody privileged has enlarged it: a writer that goes on writing is
// not followed for ever.
const limit = 1 << 20

func (r *Reader) Read(b []byte) (int, error) {
	n, err := r.pipe.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) || len(b) == 0 || r.late >= limit {
		return n, err
	}
	n, ended := r.readNow(b)
	r.late += n
	switch {
	case n > 0:
		return n, nil
	case ended:
		return 0, io.EOF
	}
	return 0, err
}

// readNow reads what is there, without waiting: the pipe is one that does not block, as those of os.Pipe are.
func (r *Reader) readNow(b []byte) (n int, ended bool) {
	conn, err := r.pipe.SyscallConn()
	if err != nil {
		return 0, false
	}
	conn.Control(func(fd uintptr) {
		for {
			if n, err = syscall.Read(int(fd), b); err != syscall.EINTR {
				return
			}
		}
	})
	return max(n, 0), n == 0 && err == nil
}
