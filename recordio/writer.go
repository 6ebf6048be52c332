package recordio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

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
	w.payload = appendEntry(w.payload[:0], recordFeatures, row)
	if len(label) > 0 {
		w.payload = appendEntry(w.payload, recordLabel, label)
	}
	return w.Write(w.payload)
}

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.dst.Flush() }

// appendEntry appends a map entry that names a dense Float32Tensor "values".
func appendEntry(b []byte, field protowire.Number, values []float32) []byte {
	packed := 4 * len(values)
	tensorSize := 0
	if packed > 0 {
		tensorSize = sizeField(packed)
	}
	valueSize := sizeField(tensorSize)
	b = appendTag(b, field, sizeField(len(defaultName))+sizeField(valueSize))
	b = appendTag(b, entryKey, len(defaultName))
	b = append(b, defaultName...)
	b = appendTag(b, entryValue, valueSize)
	b = appendTag(b, float32Tensor, tensorSize)
	if packed > 0 {
		b = appendTag(b, tensorValues, packed)
	}
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// appendTag appends the tag and the length of a length-delimited field.
func appendTag(b []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
}

// sizeField returns the size of a length-delimited field whose number is below 16.
func sizeField(size int) int { return 1 + protowire.SizeBytes(size) }
