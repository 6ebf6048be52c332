package recordio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A Salvager reads the records that survive in a damaged stream, and says where it is damaged. Set
// its fields before the first call of Next.
//
// Frames carry no checksum, so what a damaged length hides must be guessed. After damage the
// Salvager searches for a plausible header, of a whole record or a first part, whose frame is
// followed by another frame or by the end of the stream. It searches at every byte, because a
// stream that has lost some is not aligned any more, and it begins inside the damaged record, which
// may have swallowed others.
type Salvager struct {
	Multipart Multipart                  // how the parts of split records are joined
	MaxSize   int                        // the longest record accepted, its parts joined, in bytes; 0 means 1 GiB
	Check     func(payload []byte) error // what is wrong with a record; nil finds nothing wrong

	window  window
	joined  []byte // the parts of a split record
	records int64  // returned or lost
	lost    bool   // searching for the next frame
	skipped int64
	then    error // the damage that follows the record returned last
}

// NewSalvager returns a Salvager of the frames in src, which needs no buffering. Memory grows with
// the bytes that have arrived, up to a small multiple of MaxSize where a length is damaged.
func NewSalvager(src io.Reader) *Salvager { return &Salvager{window: window{src: src}} }

// Next returns the next record that survives, valid until the following call. A *FormatError says
// where damage begins, as Reader's would, or what Check found in a record; the calls after it go
// on behind the damage, and count it as one record. Every other error is final: io.EOF at the end
// of the stream, or what the source said.
func (s *Salvager) Next() ([]byte, error) {
	if err := s.then; err != nil {
		s.then = nil
		return nil, err
	}
	if s.lost {
		if err := s.search(); err != nil {
			return nil, err
		}
		s.lost = false
	}
	payload, last, at, err := s.record()
	if err == nil && s.Check != nil {
		if problem := s.Check(payload); problem != nil {
			err = s.fail(problem, 0)
		}
	}
	if damage, ok := err.(*FormatError); ok {
		s.lost = true
		s.records++
		s.skip(1)
		return nil, damage
	}
	if err != nil {
		return nil, err
	}
	if last.cut {
		s.then = s.fail(io.ErrUnexpectedEOF, at)
	}
	s.records++
	s.window.drop(at + last.size)
	return payload, nil
}

// Skipped returns how many of the bytes passed so far belong to no record that survives.
func (s *Salvager) Skipped() int64 { return s.skipped }

// record looks at the record where the window begins. It returns the payload, its last frame, and
// where in the window that stands.
func (s *Salvager) record() (payload []byte, f foundFrame, at int, err error) {
	s.joined = s.joined[:0]
	for {
		if f, err = s.frame(at, len(s.joined)); err != nil {
			return nil, f, at, s.broken(err, at)
		}
		inside := at > 0
		ends := f.flag == wholeRecord && !inside || f.flag == lastPart && inside
		goesOn := f.flag == firstPart && !inside || f.flag == middlePart && inside
		switch {
		case f.cut && !ends:
			return nil, f, at, s.fail(io.ErrUnexpectedEOF, at)
		case ends && !inside:
			return f.payload, f, at, nil
		case ends:
			s.joined = append(s.joined, f.payload...)
			return s.joined, f, at, nil
		case !goesOn:
			return nil, f, at, s.fail(fmt.Errorf("%w: %s %s", ErrSplit, partName(f.flag), place(inside)), at)
		}
		s.joined = append(s.joined, f.payload...)
		if s.Multipart == DMLC {
			s.joined = binary.LittleEndian.AppendUint32(s.joined, magic)
		}
		at += f.size
	}
}

// place words for an error where a part stands.
func place(inside bool) string {
	if inside {
		return "inside a split record"
	}
	return "without a first part"
}

// broken returns the error where there is no frame so far behind the window's begin.
func (s *Salvager) broken(err error, at int) error {
	if none, ok := err.(noFrame); ok {
		return s.fail(none.error, at)
	}
	if err == io.EOF && at > 0 {
		return s.fail(io.ErrUnexpectedEOF, at)
	}
	return err
}

func (s *Salvager) fail(err error, at int) error {
	return &FormatError{Record: s.records, Offset: s.window.offset + int64(at), Err: err}
}

// skip drops bytes that belong to no record.
func (s *Salvager) skip(n int) {
	s.window.drop(n)
	s.skipped += int64(n)
}

// search moves to the next plausible frame.
func (s *Salvager) search() error {
	word := binary.LittleEndian.AppendUint32(nil, magic)
	for {
		at := bytes.Index(s.window.bytes(), word)
		if at < 0 {
			// The last bytes may be the begin of a magic number.
			s.skip(max(0, len(s.window.bytes())-len(word)+1))
			if err := s.window.fill(len(word)); err != nil {
				s.skip(len(s.window.bytes()))
				return err
			}
			continue
		}
		s.skip(at)
		f, err := s.frame(0, 0)
		if err == nil && f.followed && f.flag <= firstPart {
			return nil
		}
		if _, none := err.(noFrame); err != nil && !none {
			return err
		}
		s.skip(1)
	}
}

// A foundFrame is what stands somewhere in the window.
type foundFrame struct {
	flag     uint32
	payload  []byte
	size     int  // with header and padding, as far as the stream goes
	cut      bool // the stream ends in the padding
	followed bool // by a frame, or by the end of the stream
}

// A noFrame says why there is no frame.
type noFrame struct{ error }

// frame looks at the frame at bytes behind the window's begin, of a record that has taken so far
// bytes. Its error is a noFrame, or io.EOF where nothing is left, or the source's.
func (s *Salvager) frame(at, sofar int) (f foundFrame, err error) {
	w := &s.window
	err = w.fill(at + headerSize)
	head := w.bytes()[at:]
	switch {
	case err != nil && (err != io.EOF || len(head) == 0):
		return f, err
	case !couldBeMagic(head):
		return f, noFrame{badMagic(head, w.offset+int64(at) == 0)}
	case err != nil:
		return f, noFrame{io.ErrUnexpectedEOF}
	}
	word := binary.LittleEndian.Uint32(head[4:])
	length := int(word & maxPart)
	if limit := s.maxSize(); length > limit-sofar {
		return f, noFrame{fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit)}
	}
	if err := w.fill(at + headerSize + length); err == io.EOF {
		return f, noFrame{io.ErrUnexpectedEOF}
	} else if err != nil {
		return f, err
	}
	size := headerSize + padded(length)
	if err := w.fill(at + size + 4); err != nil && err != io.EOF {
		return f, err
	}
	rest := w.bytes()[at:]
	f = foundFrame{flag: word >> 29, payload: rest[headerSize:][:length], size: min(size, len(rest))}
	f.cut = f.size < size
	f.followed = couldBeMagic(rest[f.size:]) // as no bytes could
	return f, nil
}

func (s *Salvager) maxSize() int {
	if s.MaxSize == 0 {
		return 1 << 30
	}
	return s.MaxSize
}

// A window is the part of a stream that has been read and may be needed again.
type window struct {
	src        io.Reader
	buf        []byte
	start, end int   // buf[start:end] is the window
	offset     int64 // of buf[start] in the stream
	err        error // what src said last
}

func (w *window) bytes() []byte { return w.buf[w.start:w.end] }

// drop moves the begin of the window.
func (w *window) drop(n int) {
	w.start += n
	w.offset += int64(n)
}

// fill makes the window n bytes long at least. Where the source ends or fails before that, it
// returns the source's error and the window is what there is.
func (w *window) fill(n int) error {
	for idle := 0; w.end-w.start < n; {
		if w.err != nil {
			return w.err
		}
		w.makeRoom()
		got, err := w.src.Read(w.buf[w.end:])
		w.end += got
		w.err = err
		if idle++; got > 0 {
			idle = 0
		} else if idle == 100 && err == nil {
			w.err = io.ErrNoProgress
		}
	}
	return nil
}

// makeRoom makes place behind a window that reaches to the end of the buffer: by moving it if that
// frees half of the buffer, else by doubling the buffer. So moving costs no more than reading.
func (w *window) makeRoom() {
	switch {
	case w.buf == nil:
		w.buf = make([]byte, bufferSize)
	case w.end < len(w.buf):
	case w.start >= len(w.buf)/2:
		w.end = copy(w.buf, w.bytes())
		w.start = 0
	default:
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
}
