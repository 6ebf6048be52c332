package checkpoint

import "io"

// A Buffer holds a copy of a state while that is written in the background. Its memory is used again.
type Buffer struct {
	blocks [][]byte // of blockSize each, so that a copy that grows is not copied again
	length int
	err    error
}

const blockSize = 1 << 20

// Copy copies what state writes, and returns the copy, which is valid until the following call. An
// error of state becomes the copy's.
func (b *Buffer) Copy(state io.WriterTo) io.WriterTo {
	b.length = 0
	_, b.err = state.WriteTo((*appender)(b))
	return b
}

// WriteTo writes the copy, any number of times.
func (b *Buffer) WriteTo(w io.Writer) (written int64, err error) {
	if b.err != nil {
		return 0, b.err
	}
	for begin := 0; begin < b.length; begin += blockSize {
		n, err := w.Write(b.blocks[begin/blockSize][:min(blockSize, b.length-begin)])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// An appender writes to the end of a Buffer.
type appender Buffer

func (a *appender) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if a.length == len(a.blocks)*blockSize {
			a.blocks = append(a.blocks, make([]byte, blockSize))
		}
		n := copy(a.blocks[a.length/blockSize][a.length%blockSize:], rest)
		a.length, rest = a.length+n, rest[n:]
	}
	return len(p), nil
}
