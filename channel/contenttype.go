package channel

import (
	"fmt"
	"strings"

	"github.com/algospec/algospec/internal/mediatype"
)

// ParseContentType takes a channel's content type apart: "text/csv; label_size = 0" is text/csv
// with the parameter label_size of 0. The media type and the names of parameters come in lower
// case, the values as they are; without parameters the map is empty.
//
// Blanks may surround ";" and "=", and a ";" may be left over, which mime.ParseMediaType refuses
// in part. Beyond that the text has the form of RFC 2045, 5.1: values are tokens, or quoted with
// "\" before a character that stands for itself. A parameter with two values is an error.
// Errors are of type *ContentTypeError.
func ParseContentType(s string) (mediaType string, params map[string]string, err error) {
	p := &contentTypeParser{whole: s, rest: s}
	mediaType, err = p.mediaType()
	if err != nil {
		return "", nil, err
	}
	params = map[string]string{}
	for {
		p.blanks()
		if p.rest == "" {
			return mediaType, params, nil
		}
		if !p.take(";") {
			return "", nil, p.fail("%.20q where a ; should be", p.rest)
		}
		p.blanks()
		if p.rest == "" || p.rest[0] == ';' {
			continue
		}
		name, value, err := p.parameter()
		if err != nil {
			return "", nil, err
		}
		if before, twice := params[name]; twice && before != value {
			return "", nil, p.fail("parameter %s has two values", name)
		}
		params[name] = value
	}
}

// Lines reports whether the channel's content type is lines of text: text/ anything (CSV, LibSVM)
// and JSON lines.
func (c Config) Lines() bool {
	kind, _, err := ParseContentType(c.ContentType)
	if err != nil {
		return false
	}
	return mediatype.Canonical(kind) == mediatype.JSONLines || strings.HasPrefix(kind, "text/")
}

// A ContentTypeError says what is wrong with a channel's content type.
type ContentTypeError struct {
	ContentType string
	Reason      string
}

func (e *ContentTypeError) Error() string {
	return fmt.Sprintf("content type %.80q: %s", e.ContentType, e.Reason)
}

// ClientError reports that the job's request is at fault.
func (e *ContentTypeError) ClientError() bool { return true }

type contentTypeParser struct {
	whole, rest string
}

func (p *contentTypeParser) fail(format string, args ...any) error {
	return &ContentTypeError{p.whole, fmt.Sprintf(format, args...)}
}

func (p *contentTypeParser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *contentTypeParser) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// token takes as many characters of a token as there are.
func (p *contentTypeParser) token() string {
	i := 0
	for i < len(p.rest) && isToken(p.rest[i]) {
		i++
	}
	token := p.rest[:i]
	p.rest = p.rest[i:]
	return token
}

func isToken(c byte) bool {
	return ' ' < c && c < 0x7f && strings.IndexByte(`()<>@,;:\"/[]?=`, c) < 0
}

func (p *contentTypeParser) mediaType() (string, error) {
	p.blanks()
	kind := p.token()
	if kind == "" {
		return "", p.fail("no media type")
	}
	if !p.take("/") {
		return "", p.fail("no subtype after %s", kind)
	}
	subtype := p.token()
	if subtype == "" {
		return "", p.fail("no subtype after %s/", kind)
	}
	return strings.ToLower(kind + "/" + subtype), nil
}

func (p *contentTypeParser) parameter() (name, value string, err error) {
	name = strings.ToLower(p.token())
	if name == "" {
		return "", "", p.fail("%.20q where a parameter should be", p.rest)
	}
	p.blanks()
	if !p.take("=") {
		return "", "", p.fail("parameter %s has no =", name)
	}
	p.blanks()
	if p.take(`"`) {
		value, err = p.quoted(name)
		return name, value, err
	}
	if value = p.token(); value == "" {
		return "", "", p.fail("parameter %s has no value", name)
	}
	return name, value, nil
}

// quoted takes the rest of a quoted value, whose first quote has been taken.
func (p *contentTypeParser) quoted(name string) (string, error) {
	var value strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return value.String(), nil
		case c == '\\' && i+1 < len(p.rest) && p.rest[i+1] >= ' ' && p.rest[i+1] != 0x7f:
			i++
			value.WriteByte(p.rest[i])
		case c < ' ' && c != '\t' || c == 0x7f:
			return "", p.fail("parameter %s has a control character", name)
		default:
			value.WriteByte(c)
		}
	}
	return "", p.fail("parameter %s has no closing quote", name)
}
