package channel

import "io"

// A skipper may leave out up to n bytes without reading them. It returns how many it has: 0 where it cannot,
// or at an end, which a read tells apart.
type skipper interface {
	skip(n int64) (int64, error)
}

// Skip goes n bytes further: by seeking where the Source is Files without Lines, File or Memory, and by
// reading otherwise. That the epoch ends before is an io.ErrUnexpectedEOF.
func (e *Epoch) Skip(n int64) error {
	for n > 0 {
		if s, ok := e.r.(skipper); ok && !e.closed && e.ctx.Err() == nil {
			skipped, err := s.skip(n)
			if err != nil {
				return e.At(err)
			}
			e.bytes += skipped
			n -= skipped
		}
		const piece = 64 << 10 // read between two tries, at most: it may lead into the next file
		read, err := io.CopyN(io.Discard, e, min(n, piece))
		n -= read
		if err == io.EOF {
			return e.At(io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *fileReader) skip(n int64) (int64, error) {
	n = max(0, min(n, r.size-r.read))
	if _, err := r.file.Seek(n, io.SeekCurrent); err != nil {
		return 0, nil // it is a pipe, which is read
	}
	r.read += n
	return n, nil
}

func (r *memoryReader) skip(n int64) (int64, error) {
	n = min(n, int64(r.Len()))
	_, err := r.Seek(n, io.SeekCurrent)
	return n, err
}

// skip skips in the part that is open. Where newlines may have to be put in, all must be read.
func (r *joined) skip(n int64) (int64, error) {
	part, ok := r.part.(skipper)
	if !ok || r.lines {
		return 0, nil
	}
	skipped, err := part.skip(n)
	if skipped > 0 && r.fresh {
		r.fresh = false
		r.add(r.given, r.where)
	}
	r.given += skipped
	return skipped, err
}
