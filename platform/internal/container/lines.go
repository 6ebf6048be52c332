package container

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// maxLine is where a line is cut: the size of a CloudWatch event.
const maxLine = 256 << 10

// copyLines copies whole lines, each in one Write under the lock, until there are no more. What cannot
// be written is dropped: a log that is lost stops no job, and the program must not block.
func copyLines(to io.Writer, from io.Reader, mu *sync.Mutex) {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(line[:len(line):len(line)], '\n')
			}
			mu.Lock()
			to.Write(line)
			mu.Unlock()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
