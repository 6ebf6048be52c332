package s3stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/algospec/algospec/internal/truncate"
)

// The limits of AttributeNames: how many, and their characters.
const (
	maxAttributes    = 16
	maxAttributeName = 256
)

// checkAttributes says what is wrong with the choice of attributes of a manifest.
func checkAttributes(uri string, names []string) error {
	if n := len(names); n < 1 || n > maxAttributes {
		return &ManifestError{URI: uri, Err: fmt.Errorf("%d attributes chosen, not 1 to %d", n, maxAttributes)}
	}
	for i, name := range names {
		var err error
		switch n := utf8.RuneCountInString(name); {
		case n < 1 || n > maxAttributeName:
			err = fmt.Errorf("a name of %d characters, not 1 to %d", n, maxAttributeName)
		case slices.Contains(names[:i], name):
			err = errChosenTwice
		}
		if err != nil {
			return &ManifestError{URI: uri, Attribute: truncate.Characters(name, maxAttributeName), Err: err}
		}
	}
	return nil
}

// attributeItem makes what an attribute stands for from its value in valid
// JSON, nil if it has none.
func attributeItem(name string, value []byte) (Item, error) {
	switch {
	case value == nil:
		return Item{}, errMissing
	case strings.HasSuffix(name, "-ref"):
		return reference(value)
	case isString(value):
		return Item{Text: unquote(value)}, nil
	default:
		return Item{Text: compact(value)}, nil
	}
}

func reference(value []byte) (Item, error) {
	err := errNoString
	if isString(value) {
		var bucket, key string
		if bucket, key, err = parseObjectURI(string(unquote(value))); err == nil {
			return Item{Object: &Object{Bucket: bucket, Key: key, Size: unknown}}, nil
		}
	}
	return Item{}, fmt.Errorf("%s: %w", truncate.Characters(string(value), 200), err)
}

// compact returns a value without the space between its tokens, which stay as
// they are: value's own bytes if they have none.
func compact(value []byte) []byte {
	if !bytes.ContainsAny(value, jsonSpace) {
		return value[:len(value):len(value)]
	}
	var text bytes.Buffer
	if err := json.Compact(&text, value); err != nil {
		panic(err) // it is valid
	}
	return text.Bytes()
}

var (
	errNoObject    = errors.New("not a JSON object")
	errMissing     = errors.New("missing")
	errTwice       = errors.New("there twice")
	errChosenTwice = errors.New("chosen twice")
)
