package recordio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// couldBeMagic reports whether data, of fewer bytes than a header, begin like one.
func couldBeMagic(data []byte) bool {
	want := binary.LittleEndian.AppendUint32(nil, magic)
	n := min(len(data), len(want))
	return bytes.Equal(data[:n], want[:n])
}

// badMagic returns an ErrMagic that shows the bytes found and, at the beginning of a stream, says
// what the data look like instead.
func badMagic(data []byte, first bool) error {
	err := fmt.Errorf("%w % x", ErrMagic, data[:min(len(data), 4)])
	if bytes.HasPrefix(data, binary.BigEndian.AppendUint32(nil, magic)) {
		return fmt.Errorf("%w: big-endian RecordIO", err)
	}
	if first {
		if kind := sniff(data); kind != "" {
			return fmt.Errorf("%w: this looks like %s, not RecordIO", err, kind)
		}
	}
	return err
}

// sniff names the format that data begin like, or returns "".
func sniff(data []byte) string {
	for _, known := range []struct{ prefix, name string }{
		{"\x1f\x8b", "gzip"},
		{"\x28\xb5\x2f\xfd", "zstd"},
		{"BZh", "bzip2"},
		{"PK\x03\x04", "a zip archive"},
		{"PAR1", "Parquet"},
		{"Obj\x01", "Avro"},
		{"\x93NUMPY", "a NumPy array"},
		{"\x89PNG", "a PNG image"},
		{"\xff\xd8\xff", "a JPEG image"},
		{"\x89HDF", "HDF5"},
	} {
		if bytes.HasPrefix(data, []byte(known.prefix)) {
			return known.name
		}
	}
	text := data[:min(len(data), 512)]
	if !isText(text) {
		return ""
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	switch {
	case len(line) == 0:
		return "blank text"
	case line[0] == '{' || line[0] == '[':
		return "JSON"
	case line[0] == '<':
		return "XML or HTML"
	case bytes.ContainsRune(line, ','):
		return "CSV"
	case bytes.ContainsRune(line, ':'):
		return "LibSVM"
	}
	return "text"
}

// isText reports whether data hold printable characters only. The last one may be cut.
func isText(data []byte) bool {
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		switch {
		case c == utf8.RuneError && size == 1:
			return !utf8.FullRune(data)
		case c < ' ' && c != '\t' && c != '\r' && c != '\n':
			return false
		}
		data = data[size:]
	}
	return true
}
