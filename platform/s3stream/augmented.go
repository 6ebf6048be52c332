package s3stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// An Augmented is an augmented manifest (S3DataType AugmentedManifestFile):
// JSON Lines, each an object that names objects in S3 and holds data besides.
//
//	{"source-ref": "s3://bucket/rose.jpg", "class": 3}
//
// It is a Listing in which a unit is a line, and blank lines are none. A line
// holds an Item for each of the chosen attributes, in the order in which they
// were chosen:
//
//   - the object, in any bucket, of an attribute whose name ends in "-ref"; its
//     Size is -1, as only S3 knows it
//   - the text of a string
//   - numbers, true, false and null as the line has them: 1.50 stays 1.50
//   - arrays and objects as the line has them, but for the space between tokens
type Augmented struct {
	attributes []string
	text       []byte
	lines      []uint32 // where in text the units begin; maxManifest fits
}

// ReadAugmented reads the manifest that is the object at uri. Of each line the
// named attributes are used, 1 to 16 of them, with different names of 1 to 256
// characters, upper and lower case being different. Other attributes are
// ignored.
//
// It blocks for the bytes of the manifest and checks every line. It returns
// context.Cause(ctx) once ctx is done, an *ObjectError where S3 fails, and
// otherwise a *ManifestError: for lines that are no JSON objects in UTF-8,
// lines where an attribute is missing or there twice, references that are no
// URIs of objects, ErrNotFound if there is no manifest, and ErrNoObjects if it
// has no lines. The objects are not asked for.
func ReadAugmented(ctx context.Context, client Client, uri string, attributes []string) (*Augmented, error) {
	if err := checkAttributes(uri, attributes); err != nil {
		return nil, err
	}
	body, size, err := openManifest(ctx, client, uri)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text := make([]byte, size)
	if _, err := io.ReadFull(body, text); err != nil {
		return nil, err
	}
	return parseAugmented(ctx, uri, text, attributes)
}

// parseAugmented checks all lines of text and keeps it.
func parseAugmented(ctx context.Context, uri string, text []byte, attributes []string) (*Augmented, error) {
	a := &Augmented{attributes: slices.Clone(attributes), text: bytes.TrimPrefix(text, []byte(byteOrderMark))}
	number, at := 0, 0
	for line := range bytes.Lines(a.text) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		number++
		if full := bytes.TrimRight(line, jsonSpace); len(full) > 0 {
			if failed := a.check(full); failed != nil {
				failed.URI, failed.Line = uri, number
				return nil, failed
			}
			a.lines = append(a.lines, uint32(at))
		}
		at += len(line)
	}
	if len(a.lines) == 0 {
		return nil, &ManifestError{URI: uri, Err: ErrNoObjects}
	}
	return a, nil
}

// check says what is wrong with a line.
func (a *Augmented) check(line []byte) *ManifestError {
	switch {
	case !utf8.Valid(line):
		return &ManifestError{Err: errUTF8}
	case !json.Valid(line):
		return &ManifestError{Err: whyInvalid(line)}
	case skipSpace(line)[0] != '{':
		return &ManifestError{Err: errNoObject}
	}
	var items [maxAttributes]Item
	_, failed := a.appendLine(items[:0], line)
	return failed
}

func whyInvalid(line []byte) error {
	err := json.Unmarshal(line, new(json.RawMessage))
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		return fmt.Errorf("after %d bytes: %w", syntax.Offset, err)
	}
	return err
}

// Len returns the number of lines that are not blank.
func (a *Augmented) Len() int { return len(a.lines) }

// AppendUnit appends the items of line i, counted from 0 without the blank
// ones. Texts may share the memory of the manifest and must not be written to;
// they stay as they are. The error is always nil: every line has been checked.
func (a *Augmented) AppendUnit(items []Item, i int) ([]Item, error) {
	line, _, _ := bytes.Cut(a.text[a.lines[i]:], []byte("\n"))
	items, _ = a.appendLine(items, line)
	return items, nil
}

// appendLine appends an item for each attribute. The line must be an object in
// valid JSON.
func (a *Augmented) appendLine(items []Item, line []byte) ([]Item, *ManifestError) {
	var values [maxAttributes][]byte
	for name, value := range members(skipSpace(line)) {
		name = unquote(name)
		i := slices.IndexFunc(a.attributes, func(wanted string) bool { return wanted == string(name) })
		if i < 0 {
			continue
		}
		if values[i] != nil {
			return nil, &ManifestError{Attribute: a.attributes[i], Err: errTwice}
		}
		values[i] = value
	}
	for i, name := range a.attributes {
		item, err := attributeItem(name, values[i])
		if err != nil {
			return nil, &ManifestError{Attribute: name, Err: err}
		}
		items = append(items, item)
	}
	return items, nil
}
