package s3stream

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// measured finds the size of items that have none by taking them in whole:
// into memory, and where they are large into a temporary file that has no name.
type measured struct {
	stream
	memory []byte
	rest   io.Reader // of the item being delivered; nil where the stream delivers it
	file   *os.File  // nil until it is needed
	buffer []byte
}

// measuredInMemory is the size of the largest item that needs no file.
const measuredInMemory = 1 << 20

func (m *measured) item() (heading, error) {
	h, err := m.stream.item()
	if m.rest = nil; err != nil || h.size != unknown {
		return h, err
	}
	if m.buffer == nil {
		m.buffer = make([]byte, maxBlock)
	}
	m.memory = m.memory[:0]
	for {
		chunk, err := m.stream.chunk()
		if err == io.EOF {
			h.size = int64(len(m.memory))
			m.rest = bytes.NewReader(m.memory)
			return h, nil
		}
		if err != nil {
			return h, err
		}
		m.memory = append(m.memory, chunk...)
		if len(m.memory) > measuredInMemory {
			h.size, err = m.spool()
			return h, err
		}
	}
}

// spool takes the rest of an item into the file.
func (m *measured) spool() (size int64, err error) {
	if m.file == nil {
		if m.file, err = os.CreateTemp("", "algospec-gunzip-"); err != nil {
			return 0, err
		}
		if err := os.Remove(m.file.Name()); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(m.file.Truncate(0), rewind(m.file)); err != nil {
		return 0, err
	}
	for chunk := m.memory; err == nil; chunk, err = m.stream.chunk() {
		n, err := m.file.Write(chunk)
		if size += int64(n); err != nil {
			return 0, err
		}
	}
	if err != io.EOF {
		return 0, err
	}
	m.rest = m.file
	return size, rewind(m.file)
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func (m *measured) chunk() ([]byte, error) {
	if m.rest == nil {
		return m.stream.chunk()
	}
	n, err := m.rest.Read(m.buffer)
	if n > 0 {
		return m.buffer[:n], nil
	}
	return nil, err
}

// Close removes the file.
func (m *measured) Close() error {
	var err error
	if m.file != nil {
		err = m.file.Close()
		m.file = nil
	}
	return errors.Join(err, closeStream(m.stream))
}
