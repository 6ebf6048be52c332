package recordio

import (
	"bytes"
	"encoding/binary"
	"errors"
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
//
// A split record that fails may begin anew at any first part inside it. No part is tried often
// behind different first parts, or else a stream could be made that takes time quadratic in its
// length.
type Salvager struct {
	Multipart Multipart                  // how the parts of split records are joined
	MaxSize   int                        // the longest record accepted, its parts joined, in bytes; 0 means 1 GiB
	Check     func(payload []byte) error // what is wrong with a record; nil finds nothing wrong

	window  window
	joined  []byte  // the parts of a split record
	parts   []int64 // where those behind the first one begin in the stream
	tries   tries
	records int64 // returned or lost
	lost    bool  // searching for the next frame
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
			return nil, s.end(err)
		}
		s.lost = false
	}
	payload, last, at, err := s.record()
	if err == nil && s.Check != nil {
		if problem := s.Check(payload); problem != nil {
			s.tries.failed(s.parts, 1)
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
		return nil, s.end(err)
	}
	if last.cut {
		s.then = s.fail(io.ErrUnexpectedEOF, at)
	}
	s.records++
	s.window.drop(at + last.size)
	return payload, nil
}

// end takes in that the stream ends with err: what is left of it belongs to no record.
func (s *Salvager) end(err error) error {
	s.skip(len(s.window.bytes()))
	return err
}

// Skipped returns how many of the bytes passed so far belong to no record that survives.
func (s *Salvager) Skipped() int64 { return s.skipped }

// record looks at the record where the window begins. It returns the payload, its last frame, and
// where in the window that stands.
func (s *Salvager) record() (payload []byte, f foundFrame, at int, err error) {
	s.joined, s.parts = s.joined[:0], s.parts[:0]
	s.tries.forget(s.window.offset)
	defer func() {
		switch _, damaged := err.(*FormatError); {
		case damaged && errors.Is(err, ErrTooLarge):
			s.tries.failed(s.parts, 1) // behind another first part they may fit
		case damaged:
			s.tries.failed(s.parts, maxTries)
		}
	}()
	for {
		if at > 0 {
			here := s.window.offset + int64(at)
			if s.tries.exhausted(here) {
				return nil, f, at, s.fail(fmt.Errorf("%w: it goes on as one that is damaged", ErrSplit), at)
			}
			s.parts = append(s.parts, here)
		}
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
		begins := f.flag == wholeRecord || f.flag == firstPart && !s.tries.exhausted(s.window.offset+int64(f.size))
		if err == nil && f.followed && begins {
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
	followed bool // by a frame, or by the end of the stream, but not by an error of the source
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
	length := int(word & MaxPart)
	if limit := s.maxSize(); length > limit-sofar {
		return f, noFrame{fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit)}
	}
	if err := w.fill(at + headerSize + length); err == io.EOF {
		return f, noFrame{io.ErrUnexpectedEOF}
	} else if err != nil {
		return f, err
	}
	size := headerSize + padded(length)
	ahead := w.fill(at + size + 4) // an error of the source comes again behind the frame
	rest := w.bytes()[at:]
	f = foundFrame{flag: word >> 29, payload: rest[headerSize:][:length], size: min(size, len(rest))}
	f.cut = f.size < size && ahead == io.EOF
	f.followed = (ahead == nil || ahead == io.EOF) && couldBeMagic(rest[f.size:]) // as no bytes could
	return f, nil
}

// tries counts, for each part behind a first one, the split records with it that failed. What
// follows a part does not depend on what comes before, so a part behind which the frames are
// broken is no part of any record.
type tries struct {
	begin  int64   // in the stream
	counts []uint8 // by the byte behind begin
}

// maxTries is how often a part is tried behind different first parts.
const maxTries = 16

func (t *tries) exhausted(offset int64) bool {
	at := offset - t.begin
	return at >= 0 && at < int64(len(t.counts)) && t.counts[at] >= maxTries
}

// failed adds n to the counts of parts, which ascend and begin where nothing is forgotten.
func (t *tries) failed(parts []int64, n uint8) {
	if len(parts) == 0 {
		return
	}
	if missing := parts[len(parts)-1] - t.begin + 1 - int64(len(t.counts)); missing > 0 {
		t.counts = append(t.counts, make([]uint8, missing)...)
	}
	for _, part := range parts {
		count := &t.counts[part-t.begin]
		*count = min(*count+n, maxTries)
	}
}

// forget drops counts before offset, and moves the others only if that frees half.
func (t *tries) forget(offset int64) {
	switch passed := offset - t.begin; {
	case passed >= int64(len(t.counts)):
		t.begin, t.counts = offset, t.counts[:0]
	case passed >= int64(len(t.counts))/2:
		t.counts = t.counts[:copy(t.counts, t.counts[passed:])]
		t.begin = offset
	}
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
