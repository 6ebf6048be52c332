package records

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/algospec/algospec/recordio/recordpb"
)

// jsonLines shows a record a line, with everything in it.
type jsonLines struct {
	to *json.Encoder
}

func newJSONLines(to io.Writer) jsonLines {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return jsonLines{encoder}
}

// jsonRecord is a record as JSON.
type jsonRecord struct {
	Input         string               `json:"input"`
	Record        int64                `json:"record"`
	Byte          int64                `json:"byte"`
	Size          int                  `json:"size"`
	Error         string               `json:"error,omitempty"`
	Features      map[string]jsonValue `json:"features,omitempty"`
	Label         map[string]jsonValue `json:"label,omitempty"`
	UID           *string              `json:"uid,omitempty"`
	Metadata      *string              `json:"metadata,omitempty"`
	Configuration *string              `json:"configuration,omitempty"`
}

// jsonValue is a value as JSON. Type is null where no member of the oneof is set.
type jsonValue struct {
	Type        *string  `json:"type"`
	Values      *numbers `json:"values,omitempty"`
	Keys        []uint64 `json:"keys,omitempty"`
	Shape       []uint64 `json:"shape,omitempty"`
	ContentType *string  `json:"content_type,omitempty"`
	Bytes       [][]byte `json:"bytes,omitempty"`
}

func (j jsonLines) print(r record, rec *recordpb.Record, err error) error {
	line := jsonRecord{Input: plainText(r.part.name), Record: r.index, Byte: r.offset, Size: len(r.payload)}
	if err != nil {
		line.Error = err.Error()
		return j.to.Encode(line)
	}
	line.Features, line.Label = jsonValues(rec.GetFeatures()), jsonValues(rec.GetLabel())
	line.UID, line.Metadata, line.Configuration = plain(rec.Uid), plain(rec.Metadata), plain(rec.Configuration)
	return j.to.Encode(line)
}

func jsonValues(values map[string]*recordpb.Value) map[string]jsonValue {
	all := make(map[string]jsonValue, len(values))
	for name, value := range values {
		t := tensorOf(value)
		v := jsonValue{Keys: t.keys, Shape: t.shape}
		if t.kind != noKind {
			v.Type = &t.kind
		}
		if t.kind == bytesKind {
			v.ContentType, v.Bytes = plain(t.bytes.ContentType), t.bytes.GetValue()
		} else if t.numeric() {
			v.Values = &numbers{t}
		}
		all[plainText(name)] = v
	}
	return all
}

// plainText returns text, or "base64:…" where it is not UTF-8, which JSON can't hold.
func plainText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return "base64:" + base64.StdEncoding.EncodeToString([]byte(text))
}

func plain(text *string) *string {
	if text == nil {
		return nil
	}
	changed := plainText(*text)
	return &changed
}

// numbers are those of a tensor as a JSON array.
type numbers struct{ tensor }

// MarshalJSON writes the numbers in the fewest digits that give the same number back in their type.
func (n numbers) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*n.len()+2)
	b = append(b, '[')
	size := 64
	if n.kind == float32Kind {
		size = 32
	}
	for i := range n.len() {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == int32Kind {
			b = strconv.AppendInt(b, int64(n.int32s[i]), 10)
		} else {
			b = appendFloat(b, n.at(i), size)
		}
	}
	return append(b, ']'), nil
}

// float is a float64 as JSON.
type float float64

// MarshalJSON writes "NaN", "Infinity" and "-Infinity" as text.
func (f float) MarshalJSON() ([]byte, error) { return appendFloat(nil, float64(f), 64), nil }

func appendFloat(b []byte, x float64, size int) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(b, `"-Infinity"`...)
	case x == 0 && math.Signbit(x):
		return append(b, "-0.0"...) // -0 is an integer to many readers, and loses its sign
	}
	return strconv.AppendFloat(b, x, 'g', -1, size)
}
