package cluster

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A connection carries magic once, from the host that dials, and then frames both ways: a kind, the
// payload's length in four bytes, little endian, and the payload.
const magic = "algospec cluster\x00"

// version is of the protocol, and follows the magic.
const version = 1

// A kind is of a frame.
type kind byte

const (
	kindHello   kind = iota + 1 // JSON hello: who dials
	kindRefused                 // JSON refusal
	kindWelcome                 // the leader takes the host in
	kindStart                   // all hosts are there
	kindBeat                    // a sign of life
	kindCall                    // a claim: a host calls a collective
	kindData                    // a chunk of it, up to the leader or down from it
	kindAbort                   // JSON abort: the cluster is over, and why
	kindBye                     // the host has ended
	kinds
)

const (
	headerSize = 5
	chunkSize  = 64 << 10 // bytes of a data frame's payload at most
	textLimit  = 8 << 10  // of JSON
)

// limits are the longest payloads.
var limits = [kinds]uint32{
	kindHello: textLimit, kindRefused: textLimit, kindAbort: textLimit, kindCall: 64, kindData: chunkSize,
}

// A frame is what came in one.
type frame struct {
	kind    kind
	payload []byte
}

var errBadFrame = errors.New("it sent what is no message of ours")

// readFrame reads one frame into buffer where that is long enough. It allocates no more than the kind
// of frame may have.
func readFrame(r io.Reader, buffer []byte) (frame, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	kind, length := kind(header[0]), binary.LittleEndian.Uint32(header[1:])
	if kind == 0 || kind >= kinds || length > limits[kind] {
		return frame{}, errBadFrame
	}
	if uint32(cap(buffer)) < length {
		buffer = make([]byte, length)
	}
	payload := buffer[:length]
	if _, err := io.ReadFull(r, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return frame{kind, payload}, nil
}

// appendHeader begins a frame whose payload the caller appends.
func appendHeader(dst []byte, k kind, length int) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(k)), uint32(length))
}

func appendFrame(dst []byte, k kind, payload []byte) []byte {
	return append(appendHeader(dst, k, len(payload)), payload...)
}

// textFrame returns a frame of v as JSON.
func textFrame(k kind, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own structs of strings and numbers
	}
	return appendFrame(nil, k, text)
}

// An abort is why a cluster is over.
type abort struct {
	Lost   string // the host that was lost, if one was
	Reason string
}

// abortFrame returns the frame that tells err to others.
func abortFrame(err error) []byte {
	a := abort{Reason: err.Error()}
	if lost, ok := errors.AsType[*LostError](err); ok {
		a = abort{lost.Host, lost.Err.Error()}
	}
	a.Lost, a.Reason = clip(a.Lost), clip(a.Reason)
	return textFrame(kindAbort, a)
}

// clip keeps text so short that it fits a frame whatever JSON makes of it.
func clip(s string) string { return s[:min(len(s), 300)] }

// error returns what the other host returned to its own caller.
func (a abort) error() error {
	if a.Lost != "" {
		return &LostError{Host: a.Lost, Err: errors.New(a.Reason)}
	}
	return errors.New(a.Reason)
}

func parseText[T any](payload []byte) (v T, err error) {
	if err := json.Unmarshal(payload, &v); err != nil {
		return v, fmt.Errorf("%w: %w", errBadFrame, err)
	}
	return v, nil
}
