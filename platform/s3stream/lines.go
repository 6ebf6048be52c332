package s3stream

// lined puts a newline between two items where the first lacks one at its end,
// so that no two lines run together. Empty items count for nothing.
type lined struct {
	stream
	open    bool   // the last byte was not a newline
	fresh   bool   // no byte of the item has come
	waiting []byte // chunk that the newline went before
}

func (l *lined) item() (heading, error) {
	l.fresh, l.waiting = true, nil
	return l.stream.item()
}

func (l *lined) chunk() ([]byte, error) {
	if chunk := l.waiting; chunk != nil {
		l.waiting = nil
		return chunk, nil
	}
	chunk, err := l.stream.chunk()
	if err != nil {
		return nil, err
	}
	join := l.open && l.fresh
	l.open, l.fresh = chunk[len(chunk)-1] != '\n', false
	if join {
		l.waiting = chunk
		return []byte{'\n'}, nil
	}
	return chunk, nil
}

// Close closes what the lines come from.
func (l *lined) Close() error { return closeStream(l.stream) }
