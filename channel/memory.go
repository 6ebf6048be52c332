package channel

import (
	"bytes"
	"context"
	"io"
)

// Memory is a Source whose every epoch is the same bytes, which must not change while they are
// read. It is the Source of tests.
type Memory []byte

// Open returns a reader of all the bytes.
func (m Memory) Open(ctx context.Context, _ int) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &memoryReader{ctx, *bytes.NewReader(m)}, nil
}

type memoryReader struct {
	ctx context.Context
	bytes.Reader
}

func (r *memoryReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

func (r *memoryReader) Close() error { return nil }
