package s3stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/algospec/algospec/internal/truncate"
)

// A manifestParser makes a Manifest from its text, entry by entry: it never
// holds the text. It finds the names of the objects and no more.
type manifestParser struct {
	uri      string
	json     *json.Decoder
	mark     int64 // bytes before the JSON
	manifest Manifest

	bucket string
	prefix string          // of keys
	entry  int             // 0 is the prefix
	raw    json.RawMessage // the entry
	key    []byte
	first  map[string]int // the index in Objects where a key is first
}

// parseManifest reads a manifest to its end. Its errors are those of the reader
// or a *ManifestError.
func parseManifest(uri string, r io.Reader) (*manifestParser, error) {
	p := &manifestParser{uri: uri, first: map[string]int{}}
	text := bufio.NewReader(r)
	if start, _ := text.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		n, _ := text.Discard(len(byteOrderMark))
		p.mark = int64(n)
	}
	p.json = json.NewDecoder(text)
	p.json.UseNumber() // any number is only one that is not wanted
	return p, p.parse()
}

// byteOrderMark is what some editors put before UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

func (p *manifestParser) parse() error {
	switch token, err := p.json.Token(); {
	case err != nil:
		return p.syntax(err)
	case token != json.Delim('['):
		return p.fail(errNoArray)
	}
	if err := p.parsePrefix(); err != nil {
		return err
	}
	for p.json.More() {
		p.entry++
		if err := p.next(); err != nil {
			return err
		}
		if err := p.add(); err != nil {
			return p.fail(fmt.Errorf("%s: %w", truncate.Characters(string(p.raw), 200), err))
		}
	}
	p.entry = 0
	return p.parseEnd()
}

// parsePrefix reads the first element.
func (p *manifestParser) parsePrefix() error {
	if !p.json.More() {
		return p.parseEnd() // or nothing but the bracket
	}
	if err := p.next(); err != nil {
		return err
	}
	var first map[string]json.RawMessage
	if json.Unmarshal(p.raw, &first) != nil || !isString(first["prefix"]) {
		return p.fail(errNoPrefix)
	}
	prefix := string(unquote(first["prefix"]))
	bucket, key, err := ParseURI(prefix)
	switch {
	case err == nil && len(prefix) == len("s3://")+len(bucket):
		err = errNoSlash // the first entry would lengthen the bucket's name
	case err == nil && len(key) > maxKey:
		err = errLongKey
	}
	if err != nil {
		return p.fail(fmt.Errorf("prefix %q: %w", truncate.Characters(prefix, 200), err))
	}
	p.manifest.Prefix, p.bucket, p.prefix = prefix, bucket, key
	return nil
}

// next reads an element.
func (p *manifestParser) next() error {
	if err := p.json.Decode(&p.raw); err != nil {
		return p.syntax(err)
	}
	if !utf8.Valid(p.raw) {
		return p.fail(errUTF8)
	}
	return nil
}

// add adds the entry to the objects.
func (p *manifestParser) add() error {
	if !isString(p.raw) {
		return errNoString
	}
	rest := unquote(p.raw)
	switch {
	case len(rest) == 0:
		return errEmpty
	case bytes.HasPrefix(rest, []byte("s3://")):
		return errAbsolute
	case len(p.prefix)+len(rest) > maxKey:
		return errLongKey
	}
	p.key = append(append(p.key[:0], p.prefix...), rest...)
	objects := p.manifest.Objects
	if i, listed := p.first[string(p.key)]; listed {
		p.manifest.Objects = append(objects, objects[i])
		return nil
	}
	key := string(p.key)
	p.first[key] = len(objects)
	p.manifest.Objects = append(objects, Object{Bucket: p.bucket, Key: key})
	return nil
}

// parseEnd reads what comes after the last entry: the bracket.
func (p *manifestParser) parseEnd() error {
	if _, err := p.json.Token(); err != nil {
		return p.syntax(err)
	}
	end := p.offset()
	switch _, err := p.json.Token(); {
	case err == nil || isSyntax(err):
		return p.fail(fmt.Errorf("at byte %d: %w", end, errTrailing))
	case err != io.EOF:
		return err
	case p.manifest.Prefix == "":
		return p.fail(errNoPrefix)
	case len(p.manifest.Objects) == 0:
		return p.fail(ErrNoObjects)
	}
	return nil
}

func (p *manifestParser) fail(err error) error {
	return &ManifestError{URI: p.uri, Entry: p.entry, Err: err}
}

// syntax says where the JSON is wrong, if it was not the reader that failed.
func (p *manifestParser) syntax(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if isSyntax(err) {
		return p.fail(fmt.Errorf("at byte %d: %w", p.offset(), err))
	}
	return err
}

// offset returns up to where the manifest is good.
func (p *manifestParser) offset() int64 { return p.mark + p.json.InputOffset() }

// isSyntax reports whether the text is at fault: it is no JSON, or ends inside a token.
func isSyntax(err error) bool {
	_, is := errors.AsType[*json.SyntaxError](err)
	return is || err == io.ErrUnexpectedEOF
}

var (
	errNoArray  = errors.New("not a JSON array")
	errNoPrefix = errors.New(`does not begin with {"prefix": "s3://bucket/some/"}`)
	errNoSlash  = errors.New("no slash after the bucket")
	errNoString = errors.New("not a string")
	errUTF8     = errors.New("not UTF-8")
	errEmpty    = errors.New("empty")
	errAbsolute = errors.New("a whole URI, not what comes after the prefix")
	errTrailing = errors.New("more after the array")
)
