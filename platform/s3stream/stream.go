package s3stream

import "io"

// A stream is items, one after the other, each in chunks.
type stream interface {
	// item goes on to the next item; after the last its error is io.EOF. What
	// is left of the item before is skipped.
	item() (heading, error)

	// chunk returns the next bytes of the item, at least one, valid until the
	// following call of either. At the end of the item its error is io.EOF.
	chunk() ([]byte, error)
}

// A heading is what is known of an item before its bytes.
type heading struct {
	object *Object // nil where it is text
	size   int64   // or unknown
}

// next returns the next bytes of the stream, in whichever item they are.
func next(s stream) ([]byte, error) {
	for {
		chunk, err := s.chunk()
		if err != io.EOF {
			return chunk, err
		}
		if _, err := s.item(); err != nil {
			return nil, err
		}
	}
}

// skip reads the item to its end.
func skip(s stream) error {
	for {
		if _, err := s.chunk(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// transform makes of the objects what the options want.
func transform(s stream, opts Options) stream {
	if opts.Gzip {
		s = newGunzipped(s)
	}
	switch {
	case opts.RecordIO && opts.Gzip:
		return &wrapped{stream: &measured{stream: s}, opts: opts}
	case opts.RecordIO:
		return &wrapped{stream: s, opts: opts}
	case opts.Lines:
		return &lined{stream: s}
	}
	return s
}

func (o Options) transforms() bool { return o.Gzip || o.RecordIO || o.Lines }

// closeStream closes what a stream holds besides memory.
func closeStream(s stream) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
