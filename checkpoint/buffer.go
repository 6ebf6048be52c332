package checkpoint

import "io"

// A Buffer holds a copy of a state while that is written in the background. Its memory is used again.
type Buffer struct {
	bytes []byte
	err   error
}

// Copy copies what state writes, and returns the copy, which is valid until the following call. An
// error of state becomes the copy's.
func (b *Buffer) Copy(state io.WriterTo) io.WriterTo {
	b.bytes = b.bytes[:0]
	_, b.err = state.WriteTo((*appender)(b))
	return b
}

// WriteTo writes the copy, any number of times.
func (b *Buffer) WriteTo(w io.Writer) (int64, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := w.Write(b.bytes)
	return int64(n), err
}

// An appender writes to the end of a Buffer.
type appender Buffer

func (a *appender) Write(p []byte) (int, error) {
	a.bytes = append(a.bytes, p...)
	return len(p), nil
}
