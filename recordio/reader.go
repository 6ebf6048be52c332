package recordio

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
)

// bufferSize is how much a Reader asks for at a time: the size that pipes deliver fastest.
const bufferSize = 256 << 10

// A Reader reads the records of a stream of frames. Set its fields before the first call of Next.
type Reader struct {
	Multipart Multipart // how the parts of split records are joined
	MaxSize   int       // the longest record accepted, its parts joined, in bytes; 0 means 1 GiB

	src     io.Reader
	buf     []byte // buf[start:end] has been read and not been returned
	start   int
	end     int
	srcErr  error  // what src said last; it holds once the buffered frames are returned
	offset  int64  // of buf[start] in the stream
	records int64  // returned so far
	last    int64  // offset of the record returned last
	joined  []byte // the parts of a split record
	err     error  // sticky
}

// NewReader returns a Reader of the frames in src. It reads ahead, and it needs no buffering of
// src. Memory grows with the records that have arrived, never with the length a frame claims.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// NewBytesReader returns a Reader of the frames in data, which must not change. Nothing is copied:
// records that are not split are parts of data.
func NewBytesReader(data []byte) *Reader {
	return &Reader{buf: data, end: len(data), srcErr: io.EOF}
}

// StartAt says, before the first Next, that src begins with a record and byte of a longer stream: errors and Offset
// count from that one's beginning.
func (r *Reader) StartAt(record, offset int64) { r.records, r.offset = record, offset }

// Next returns the next record's payload, valid until the following call. The error is io.EOF
// where the stream ends between two records, a *FormatError where the framing is wrong or the
// stream ends inside a record, or what the source said. It stays the same from then on.
func (r *Reader) Next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	if payload, ok := r.buffered(); ok {
		return payload, nil
	}
	payload, err := r.next()
	if err != nil {
		r.err = err
		return nil, err
	}
	r.records++
	return payload, nil
}

// buffered returns the next record where it is the common one: whole, and in the buffer.
func (r *Reader) buffered() (payload []byte, ok bool) {
	b := r.buf[r.start:r.end]
	if len(b) < headerSize {
		return nil, false
	}
	head := binary.LittleEndian.Uint64(b)
	length := int(head >> 32) // above MaxPart with any flag but wholeRecord
	size := headerSize + padded(length)
	if uint32(head) != magic || length > MaxPart || size > len(b) || length > r.maxSize() {
		return nil, false
	}
	r.last = r.offset
	r.start += size
	r.offset += int64(size)
	r.records++
	return b[headerSize : headerSize+length], true
}

// All yields the remaining records, each valid during its step. An error is yielded last, once;
// the end of the stream is none.
func (r *Reader) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			payload, err := r.Next()
			if err == io.EOF || !yield(payload, err) || err != nil {
				return
			}
		}
	}
}

// Offset returns how many bytes of the stream the records returned so far take.
func (r *Reader) Offset() int64 { return r.offset }

// At places err, which concerns the record that Next returned last, in the stream.
func (r *Reader) At(err error) error {
	return &FormatError{Record: r.records - 1, Offset: r.last, Err: err}
}

func (r *Reader) next() ([]byte, error) {
	r.last = r.offset
	payload, flag, err := r.part(0)
	if err != nil || flag == wholeRecord {
		return payload, err
	}
	if flag != firstPart {
		return nil, r.fail(fmt.Errorf("%w: %s without a first part", ErrSplit, partName(flag)), r.last)
	}
	r.joined = append(r.joined[:0], payload...)
	for flag != lastPart {
		begin := r.offset
		if r.Multipart == DMLC {
			r.joined = binary.LittleEndian.AppendUint32(r.joined, magic)
		}
		payload, flag, err = r.part(len(r.joined))
		if err == io.EOF {
			return nil, r.fail(io.ErrUnexpectedEOF, begin)
		}
		if err != nil {
			return nil, err
		}
		if flag != middlePart && flag != lastPart {
			return nil, r.fail(fmt.Errorf("%w: %s inside a split record", ErrSplit, partName(flag)), begin)
		}
		r.joined = append(r.joined, payload...)
	}
	return r.joined, nil
}

func partName(flag uint32) string {
	names := [...]string{"a whole record", "a first part", "a middle part", "a last part"}
	if int(flag) < len(names) {
		return names[flag]
	}
	return fmt.Sprintf("a part with the undefined flag %d", flag)
}

// part consumes one frame, of a record that has taken so far bytes, and returns its payload and
// its flag. At the end of the stream it returns io.EOF.
func (r *Reader) part(sofar int) ([]byte, uint32, error) {
	begin := r.offset
	if err := r.fill(headerSize); err != nil {
		if err == io.EOF && r.end > r.start {
			// What is left is too short for a header. Say first if it is no header at all.
			if !couldBeMagic(r.buf[r.start:r.end]) {
				return nil, 0, r.fail(badMagic(r.buf[r.start:r.end], begin == 0), begin)
			}
			err = r.fail(io.ErrUnexpectedEOF, begin)
		}
		return nil, 0, err
	}
	head := r.buf[r.start:r.end]
	if binary.LittleEndian.Uint32(head) != magic {
		return nil, 0, r.fail(badMagic(head, begin == 0), begin)
	}
	word := binary.LittleEndian.Uint32(head[4:])
	flag, length := word>>29, int(word&MaxPart)
	if limit := r.maxSize(); length > limit-sofar {
		return nil, 0, r.fail(fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit), begin)
	}
	size := headerSize + padded(length)
	if err := r.fill(size); err != nil {
		if err == io.EOF {
			err = r.fail(io.ErrUnexpectedEOF, begin)
		}
		return nil, 0, err
	}
	payload := r.buf[r.start+headerSize:][:length]
	r.start += size
	r.offset += int64(size)
	return payload, flag, nil
}

func (r *Reader) maxSize() int {
	if r.MaxSize == 0 {
		return 1 << 30
	}
	return r.MaxSize
}

// fail returns the framing error err at an offset of the record being read.
func (r *Reader) fail(err error, offset int64) error {
	return &FormatError{Record: r.records, Offset: offset, Err: err}
}

// fill reads until n bytes are buffered. Its error is the source's: io.EOF when that has ended.
func (r *Reader) fill(n int) error {
	for idle := 0; r.end-r.start < n; {
		if r.srcErr != nil {
			return r.srcErr
		}
		r.makeRoom(n)
		got, err := r.src.Read(r.buf[r.end:])
		r.end += got
		r.srcErr = err
		if idle++; got > 0 {
			idle = 0
		} else if idle == 100 && err == nil {
			r.srcErr = io.ErrNoProgress
		}
	}
	return nil
}

// makeRoom makes place behind buf[end] when a record of n bytes cannot be completed there. The
// buffer doubles only when it is full of what has arrived.
func (r *Reader) makeRoom(n int) {
	switch {
	case r.buf == nil:
		r.buf = make([]byte, bufferSize)
	case r.start == r.end:
		r.start, r.end = 0, 0
	case r.start > 0 && r.start+n > len(r.buf):
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	case r.end == len(r.buf):
		r.buf = append(r.buf, make([]byte, min(len(r.buf), n-len(r.buf)))...)
	}
}
