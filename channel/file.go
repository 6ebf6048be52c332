package channel

import (
	"context"
	"fmt"
	"io"
	"os"
)

// File is the Source whose every epoch is one file. Its errors name the file; one that turns out
// shorter than it was when it was opened is an io.ErrUnexpectedEOF, never a silent end.
type File string

// Open opens the file.
func (f File) Open(ctx context.Context, _ int) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	file, err := os.Open(string(f))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &fileReader{partName: partName(f), ctx: ctx, file: file, size: info.Size()}, nil
}

// A fileReader reads one file.
type fileReader struct {
	partName
	ctx  context.Context
	file *os.File
	size int64 // when it was opened
	read int64
}

func (r *fileReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.file.Read(p)
	r.read += int64(n)
	if err == io.EOF && r.read < r.size {
		err = fmt.Errorf("%s shrank from %d to %d bytes while it was read: %w", r.file.Name(), r.size, r.read, io.ErrUnexpectedEOF)
	}
	return n, err
}

func (r *fileReader) Close() error { return r.file.Close() }
