package fastfile

import "context"

// A view is bytes of a file where they lie in the cache, which keeps them until
// release is called.
type view struct {
	reader *reader
	blocks []*block
	bytes  [][]byte
	length int
	weight int64 // of the file system's views
}

// view returns bytes [off, off+n) of the file without copying them. It returns
// nil, and no error, if views hold too much of the cache already.
func (r *reader) view(ctx context.Context, off, n int64) (*view, error) {
	f, block := r.fs, r.fs.opts.Block
	first, last := off/block, (off+n-1)/block
	v := &view{reader: r, weight: (last - first + 1) * block}
	if !f.views.TryAcquire(v.weight) {
		return nil, nil
	}
	r.ask(off, n)
	for i := first; i <= last; i++ {
		b, err := r.pin(ctx, i)
		if err != nil {
			v.release()
			return nil, err
		}
		start := i * block
		v.blocks = append(v.blocks, b)
		v.bytes = append(v.bytes, b.data[max(off-start, 0):min(off+n-start, int64(b.size))])
	}
	v.length = int(n)
	f.counts.reads.Add(1)
	f.counts.bytesRead.Add(n)
	return v, nil
}

// release gives the bytes back.
func (v *view) release() {
	for i, b := range v.blocks {
		bytes := v.bytes[i]
		v.reader.fs.cache.unpin(b, &bytes[len(bytes)-1] == &b.data[b.size-1])
	}
	v.reader.fs.views.Release(v.weight)
}
