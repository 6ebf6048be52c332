package convert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The .npy format is read and written here because no Go library does it row by row:
// github.com/sbinet/npyio v0.9.0 holds the whole array, allocates the length that the header
// claims before anything has arrived, and panics on a header without a newline.

const (
	npyMagic  = "\x93NUMPY"
	maxHeader = 64 << 10 // NumPy itself refuses headers over 10,000 bytes
)

// npyHeader is the header of a .npy.
type npyHeader struct {
	descr   string
	fortran bool
	shape   []int64
}

// readNPYHeader reads the header of a .npy, of version 1, 2 or 3.
func readNPYHeader(src io.Reader) (h npyHeader, err error) {
	head := make([]byte, 12)
	if err := readFull(src, head[:8]); err != nil {
		return h, err
	}
	if string(head[:6]) != npyMagic {
		return h, fmt.Errorf("not a .npy: it begins with %q", head[:6])
	}
	size := 0
	switch major := head[6]; major {
	case 1:
		if err := readFull(src, head[8:10]); err != nil {
			return h, err
		}
		size = int(binary.LittleEndian.Uint16(head[8:]))
	case 2, 3:
		if err := readFull(src, head[8:12]); err != nil {
			return h, err
		}
		if n := binary.LittleEndian.Uint32(head[8:]); n > maxHeader {
			return h, fmt.Errorf("a header of %d bytes", n)
		}
		size = int(binary.LittleEndian.Uint32(head[8:]))
	default:
		return h, fmt.Errorf("version %d of the format is not known", major)
	}
	text := make([]byte, size)
	if err := readFull(src, text); err != nil {
		return h, err
	}
	if h, err = parseNPYHeader(string(text)); err != nil {
		err = fmt.Errorf("header: %w", err)
	}
	return h, err
}

// readFull reads all of p. The end of src before that is errCut; what src itself says is a
// sourceError.
func readFull(src io.Reader, p []byte) error {
	_, err := io.ReadFull(src, p)
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return errCut
	}
	return sourceError{err}
}

var errCut = fmt.Errorf("the array is cut off: %w", io.ErrUnexpectedEOF)

// A sourceError is no fault of the data.
type sourceError struct{ error }

// parseNPYHeader parses the header's text, which is a dict in Python's notation.
func parseNPYHeader(text string) (npyHeader, error) {
	var h npyHeader
	p := python{rest: text}
	p.expect("{")
	seen := map[string]bool{}
	for p.err == nil && !p.accept("}") {
		key := p.quoted()
		p.expect(":")
		if seen[key] {
			p.fail("key %q twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			h.descr = p.quoted()
		case "fortran_order":
			h.fortran = p.boolean()
		case "shape":
			h.shape = p.tuple()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.accept(",") {
			p.expect("}")
			break
		}
	}
	if p.err == nil && p.space() != "" {
		p.fail("text behind the dict: %.20q", p.rest)
	}
	if p.err == nil && len(seen) != 3 {
		p.fail("it must have descr, fortran_order and shape")
	}
	return h, p.err
}

// python parses the notation of Python's literals. The first error stays.
type python struct {
	rest string
	err  error
}

func (p *python) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// space skips blanks and returns the rest.
func (p *python) space() string {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	return p.rest
}

func (p *python) accept(token string) bool {
	if p.err != nil || !strings.HasPrefix(p.space(), token) {
		return false
	}
	p.rest = p.rest[len(token):]
	return true
}

func (p *python) expect(token string) {
	if p.err == nil && !p.accept(token) {
		p.fail("%.20q where %q should be", p.rest, token)
	}
}

func (p *python) quoted() string {
	p.accept("u") // Python 2 wrote u'…'
	rest := p.space()
	if p.err != nil || rest == "" || rest[0] != '\'' && rest[0] != '"' {
		p.fail("%.20q where a quoted text should be", rest)
		return ""
	}
	text, after, ok := strings.Cut(rest[1:], rest[:1])
	if !ok {
		p.fail("a quoted text without an end")
	}
	p.rest = after
	return text
}

func (p *python) boolean() bool {
	if p.accept("True") {
		return true
	}
	p.expect("False")
	return false
}

func (p *python) tuple() (list []int64) {
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		rest := p.space()
		end := 0
		for end < len(rest) && rest[end]-'0' <= 9 {
			end++
		}
		n, err := strconv.ParseInt(rest[:end], 10, 64)
		if err != nil {
			p.fail("%.20q where an extent should be", rest)
			return list
		}
		list = append(list, n)
		p.rest = rest[end:]
		p.accept("L") // Python 2 wrote 3L
		if !p.accept(",") {
			p.expect(")")
			break
		}
	}
	return list
}

// appendNPYHeader appends the header as numpy.save writes it: with so much room that a change of
// the first extent never changes the header's size.
func appendNPYHeader(b []byte, descr string, shape ...int64) []byte {
	const growth, alignment = 21, 64
	var text strings.Builder
	fmt.Fprintf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr)
	for i, extent := range shape {
		if i > 0 {
			text.WriteString(" ")
		}
		text.WriteString(strconv.FormatInt(extent, 10))
		if i < len(shape)-1 || i == 0 {
			text.WriteString(",")
		}
	}
	text.WriteString("), }")
	if len(shape) > 0 {
		text.WriteString(strings.Repeat(" ", growth-len(strconv.FormatInt(shape[0], 10))))
	}
	const before = len(npyMagic) + 4
	padding := alignment - (before+text.Len()+1)%alignment
	text.WriteString(strings.Repeat(" ", padding))
	text.WriteString("\n")
	b = append(b, npyMagic...)
	b = append(b, 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(text.Len()))
	return append(b, text.String()...)
}

// A dtype is the type of an array's elements.
type dtype struct {
	kind byte // f, i, u, b
	size int
	big  bool // big-endian
}

// parseDtype parses a type such as <f4.
func parseDtype(descr string) (dtype, error) {
	bad := fmt.Errorf("elements of type %q are not supported", descr)
	if len(descr) != 3 || !strings.Contains("<>=|", descr[:1]) {
		return dtype{}, bad
	}
	t := dtype{kind: descr[1], size: int(descr[2] - '0'), big: descr[0] == '>'}
	sizes := map[byte][]int{'f': {4, 8}, 'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'b': {1}}
	if !slices.Contains(sizes[t.kind], t.size) {
		return dtype{}, bad
	}
	if t.size > 1 && descr[0] == '|' {
		return dtype{}, errors.New("elements of unknown byte order")
	}
	return t, nil
}
