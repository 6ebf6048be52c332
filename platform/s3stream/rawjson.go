package s3stream

import (
	"bytes"
	"encoding/json"
	"iter"
)

// The functions here take JSON values as they are written, without space
// around them. They must be valid: json.Valid has seen them.

// isString says whether a value, which may be missing, is a string.
func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// unquote returns what a string stands for: raw's own bytes if nothing in it is
// escaped, and fresh ones otherwise.
func unquote(raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner[:len(inner):len(inner)]
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		panic(err) // it is valid
	}
	return []byte(text)
}

// members yields the names and values of an object, in their order.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		rest := skipSpace(object[1:])
		for rest[0] != '}' {
			name := rest[:valueLen(rest)]
			rest = skipSpace(rest[len(name):])
			rest = skipSpace(rest[1:]) // the colon
			value := rest[:valueLen(rest)]
			rest = skipSpace(rest[len(value):])
			if rest[0] == ',' {
				rest = skipSpace(rest[1:])
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

const jsonSpace = " \t\r\n"

func skipSpace(text []byte) []byte {
	i := 0
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n' {
		i++
	}
	return text[i:]
}

// valueLen returns the length of the value that text begins with, in which
// something follows it.
func valueLen(text []byte) int {
	switch text[0] {
	case '"':
		return stringLen(text)
	case '{', '[':
		return containerLen(text)
	default:
		return bytes.IndexAny(text, ",]}"+jsonSpace)
	}
}

func stringLen(text []byte) int {
	i := 1
	for text[i] != '"' {
		if text[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1
}

func containerLen(text []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			i += stringLen(text[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
