package s3stream

import (
	"io"
	"time"
)

// A gatherer writes small chunks together and large ones as they are.
type gatherer struct {
	to      io.Writer
	counts  *counts
	small   []byte     // gathered
	pipe    PipeWriter // to, where bytes can be moved into it
	written int64
	err     error
}

// Chunks below smallChunk are worth copying to save a system call.
const smallChunk = 32 << 10

// write takes all of p, or sets err.
func (g *gatherer) write(p []byte) int {
	if len(p) < smallChunk {
		if g.small == nil {
			g.small = make([]byte, 0, maxBlock)
		}
		if len(g.small)+len(p) > cap(g.small) && g.flush() != nil {
			return 0
		}
		g.small = append(g.small, p...)
		return len(p)
	}
	if g.flush() != nil {
		return 0
	}
	return g.pass(p)
}

// flush writes what is gathered.
func (g *gatherer) flush() error {
	if g.err == nil && len(g.small) > 0 {
		g.pass(g.small)
		g.small = g.small[:0]
	}
	return g.err
}

func (g *gatherer) pass(p []byte) int {
	began := time.Now()
	n, err := g.to.Write(p)
	g.counts.waitedForReader.Add(int64(time.Since(began)))
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	g.written += int64(n)
	g.err = err
	return n
}
