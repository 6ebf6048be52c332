package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/minio/crc64nvme"
)

// A Reader reads a snapshot's file: first what is kept beside the state, then the state, whose end is
// io.EOF only where the whole file is as it was saved.
type Reader struct {
	src  *bufio.Reader
	hash hash.Hash64
	size int64

	begun    bool
	snapshot Snapshot
	refused  error // why there is no snapshot
	left     int64 // of the state
	length   int64 // of the state
	err      error // sticky
}

// NewReader returns a Reader of a file of the given size, from its beginning.
func NewReader(src io.Reader, size int64) *Reader {
	return &Reader{src: bufio.NewReaderSize(src, 16<<10), hash: crc64nvme.New(), size: size}
}

// Snapshot returns what is kept beside the state. It does not tell whether the state is whole.
func (r *Reader) Snapshot() (Snapshot, error) {
	if !r.begun {
		r.begun = true
		r.refused = r.readHeader()
		r.err = r.refused
	}
	return r.snapshot, r.refused
}

// StateSize returns how many bytes the state has.
func (r *Reader) StateSize() (int64, error) {
	_, err := r.Snapshot()
	return r.length, err
}

// Read reads the state. Where the file is damaged the error is ErrFormat, ErrCut, ErrChecksum or a
// *VersionError, possibly after bytes that are wrong.
func (r *Reader) Read(p []byte) (int, error) {
	if !r.begun {
		r.Snapshot()
	}
	if r.err != nil {
		return 0, r.err
	}
	if r.left == 0 {
		r.err = r.readTrailer()
		return 0, r.err
	}
	n, err := r.src.Read(p[:min(int64(len(p)), r.left)])
	r.hash.Write(p[:n])
	r.left -= int64(n)
	if err != nil {
		r.err = short(err)
	}
	return n, r.err
}

func (r *Reader) readHeader() error {
	var head [headSize]byte
	n, err := io.ReadFull(r.src, head[:])
	switch {
	case !bytes.HasPrefix(begin[:], head[:min(n, len(begin))]):
		return ErrFormat
	case err != nil:
		return short(err)
	}
	if v := binary.BigEndian.Uint32(head[8:]); v > version {
		return &VersionError{v}
	} else if v != version {
		return ErrChecksum // there was none before
	}
	length := int64(binary.BigEndian.Uint32(head[12:]))
	r.length = r.size - headSize - length - sumSize - trailerSize
	switch {
	case length > maxHeader:
		return ErrChecksum
	case r.length < 0:
		return ErrCut
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r.src, header); err != nil {
		return short(err)
	}
	r.hash.Write(head[:])
	r.hash.Write(header)
	if ok, err := r.readSum(); err != nil {
		return err
	} else if !ok {
		return ErrChecksum
	}
	r.left = r.length
	if err := json.Unmarshal(header, &r.snapshot); err != nil {
		r.snapshot = Snapshot{}
		return fmt.Errorf("%w: header: %w", ErrFormat, err)
	}
	return nil
}

// readTrailer returns io.EOF where all is well. A file that was cut most likely lacks the end; where the
// sum is right without it, it is the end that is damaged.
func (r *Reader) readTrailer() error {
	var length [8]byte
	if _, err := io.ReadFull(r.src, length[:]); err != nil {
		return short(err)
	}
	r.hash.Write(length[:])
	sum, err := r.readSum()
	if err != nil {
		return err
	}
	var last [len(end)]byte
	if _, err := io.ReadFull(r.src, last[:]); err != nil {
		return short(err)
	}
	right := sum && binary.BigEndian.Uint64(length[:]) == uint64(r.length)
	switch {
	case right && last == end:
		return io.EOF
	case !right && last != end:
		return ErrCut
	}
	return ErrChecksum
}

// readSum reads a checksum, which is summed up with the rest, and says whether it is that of all before.
func (r *Reader) readSum() (bool, error) {
	want := r.hash.Sum64()
	var sum [sumSize]byte
	if _, err := io.ReadFull(r.src, sum[:]); err != nil {
		return false, short(err)
	}
	r.hash.Write(sum[:])
	return binary.BigEndian.Uint64(sum[:]) == want, nil
}

// short makes of the end of a stream, where there should be more, ErrCut.
func short(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}
