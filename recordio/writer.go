package recordio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Writer writes records as frames. Writes are buffered; call Flush at the end.
type Writer struct {
	// MaxPart is the longest part written, in bytes: a longer record is split, in the Plain way.
	// 0 means 2^29-1, the most that a frame can hold.
	MaxPart int

	dst     *bufio.Writer
	payload []byte // of the row being written
}

// NewWriter returns a Writer to dst.
func NewWriter(dst io.Writer) *Writer {
	return &Writer{dst: bufio.NewWriterSize(dst, bufferSize)}
}

// Write writes one record.
func (w *Writer) Write(payload []byte) error {
	limit := maxPart
	if w.MaxPart > 0 {
		limit = min(w.MaxPart, maxPart)
	}
	if len(payload) <= limit {
		return w.frame(wholeRecord, payload)
	}
	flag := uint32(firstPart)
	for ; len(payload) > limit; payload = payload[limit:] {
		if err := w.frame(flag, payload[:limit]); err != nil {
			return err
		}
		flag = middlePart
	}
	return w.frame(lastPart, payload)
}

func (w *Writer) frame(flag uint32, part []byte) error {
	head := binary.LittleEndian.AppendUint32(w.dst.AvailableBuffer(), magic)
	head = binary.LittleEndian.AppendUint32(head, flag<<29|uint32(len(part)))
	_, headErr := w.dst.Write(head)
	_, partErr := w.dst.Write(part)
	_, padErr := w.dst.WriteString("\x00\x00\x00"[:padded(len(part))-len(part)])
	return errors.Join(headErr, partErr, padErr)
}

// WriteRow writes a dense float32 row, with a label of so many values or, given none, without
// one. The bytes are those that the SageMaker Python SDK writes.
func (w *Writer) WriteRow(row []float32, label ...float32) error {
	w.payload = appendEntry(w.payload[:0], recordFeatures, tensorFields{values: row})
	if len(label) > 0 {
		w.payload = appendEntry(w.payload, recordLabel, tensorFields{values: label})
	}
	return w.Write(w.payload)
}

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.dst.Flush() }

// tensorFields is the content of a Float32Tensor.
type tensorFields struct {
	values []float32
	keys   []int32
	shape  int // of one dimension
	sparse bool
}

// appendEntry appends a map entry that names a Float32Tensor "values". Fields that are empty are
// left out.
func appendEntry(b []byte, field protowire.Number, t tensorFields) []byte {
	values, keys, shape := 4*len(t.values), 0, 0
	for _, key := range t.keys {
		keys += protowire.SizeVarint(uint64(key))
	}
	if t.sparse {
		shape = protowire.SizeVarint(uint64(t.shape))
	}
	size := 0
	for _, packed := range []int{values, keys, shape} {
		if packed > 0 {
			size += sizeField(packed)
		}
	}
	value := sizeField(size)
	b = appendTag(b, field, sizeField(len(defaultName))+sizeField(value))
	b = appendTag(b, entryKey, len(defaultName))
	b = append(b, defaultName...)
	b = appendTag(b, entryValue, value)
	b = appendTag(b, float32Tensor, size)
	if values > 0 {
		b = appendTag(b, tensorValues, values)
		b = appendFloat32Bytes(b, t.values)
	}
	if keys > 0 {
		b = appendTag(b, tensorKeys, keys)
		for _, key := range t.keys {
			b = protowire.AppendVarint(b, uint64(key))
		}
	}
	if shape > 0 {
		b = appendTag(b, tensorShape, shape)
		b = protowire.AppendVarint(b, uint64(t.shape))
	}
	return b
}

// appendTag appends the tag and the length of a length-delimited field.
func appendTag(b []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
}

// sizeField returns the size of a length-delimited field whose number is below 16.
func sizeField(size int) int { return 1 + protowire.SizeBytes(size) }
