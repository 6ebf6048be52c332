package recordio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/recordio/recordpb"
)

// A Writer writes records as frames. Writes are buffered; call Flush at the end. Set its fields before
// the first write.
type Writer struct {
	// Multipart is how records are split. Plain records are split where they are longer than
	// MaxPart, DMLC records at each magic number that stands in them at a multiple of four bytes,
	// as MXNet's readers want it.
	Multipart Multipart
	// MaxPart is the longest part of a Plain record, in bytes; 0 means 2^29-1, the most that a frame
	// can hold.
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
	if w.Multipart == DMLC {
		return w.writeDMLC(payload)
	}
	limit := MaxPart
	if w.MaxPart > 0 {
		limit = min(w.MaxPart, MaxPart)
	}
	first := true
	for ; len(payload) > limit; payload = payload[limit:] {
		if err := w.frame(partFlag(first, false), payload[:limit]); err != nil {
			return err
		}
		first = false
	}
	return w.frame(partFlag(first, true), payload)
}

// writeDMLC cuts the record at each aligned magic number, which it leaves out.
func (w *Writer) writeDMLC(payload []byte) error {
	first := true
	for at := 0; at+4 <= len(payload); {
		if binary.LittleEndian.Uint32(payload[at:]) != magic {
			at += 4
			continue
		}
		if err := w.frame(partFlag(first, false), payload[:at]); err != nil {
			return err
		}
		payload, at, first = payload[at+4:], 0, false
	}
	return w.frame(partFlag(first, true), payload)
}

// partFlag returns the flag of the first, the last, a middle or the only part of a record.
func partFlag(first, last bool) uint32 {
	switch {
	case first && last:
		return wholeRecord
	case first:
		return firstPart
	case last:
		return lastPart
	}
	return middlePart
}

func (w *Writer) frame(flag uint32, part []byte) error {
	if len(part) > MaxPart {
		return ErrTooLarge // of the DMLC way, which cannot cut elsewhere
	}
	_, headErr := w.dst.Write(appendHeader(w.dst.AvailableBuffer(), flag, len(part)))
	_, partErr := w.dst.Write(part)
	_, padErr := w.dst.WriteString("\x00\x00\x00"[:padded(len(part))-len(part)])
	return errors.Join(headErr, partErr, padErr)
}

// AppendHeader appends the header of a frame, for who writes a payload as it comes: the bytes of
// one part of a record, its first, its last, or both, follow, and after them zeros up to a multiple
// of four. A part has MaxPart bytes at most.
func AppendHeader(b []byte, first, last bool, length int) []byte {
	if length < 0 || length > MaxPart {
		panic("recordio: no part can be so long")
	}
	return appendHeader(b, partFlag(first, last), length)
}

func appendHeader(b []byte, flag uint32, length int) []byte {
	b = binary.LittleEndian.AppendUint32(b, magic)
	return binary.LittleEndian.AppendUint32(b, flag<<29|uint32(length))
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

// WriteRecord writes a whole Record, its maps in the order of their keys.
func (w *Writer) WriteRecord(record *recordpb.Record) (err error) {
	w.payload, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(w.payload[:0], record)
	if err != nil {
		return err
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
