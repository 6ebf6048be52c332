package cluster

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A connection carries magic once, from the host that dials, and then frames both ways: a kind, the
// payload's length in four bytes, little endian, and the payload.
const magic = "algospec cluster\x00"

// version is of the protocol, and follows the magic.
const version = 2

// A kind is of a frame.
type kind byte

const (
	kindHello     kind = iota + 1 // JSON hello: who dials
	kindChallenge                 // JSON challenge, which the proof must answer
	kindProof                     // JSON proof
	kindRefused                   // JSON refusal
	kindWelcome                   // JSON proof: the host is taken in
	kindStart                     // JSON start, of the leader: all hosts are there, and where
	kindReady                     // to the leader: this host is connected to all
	kindBeat                      // a sign of life
	kindCall                      // a claim: a host calls a collective
	kindData                      // a piece of it
	kindRoom                      // a number in four bytes: so many frames of calls and data have been used up
	kindReport                    // JSON abort, to the leader: which host was lost
	kindAbort                     // JSON abort: the cluster is over, and why
	kindBye                       // the host has ended
	kinds
)

const (
	headerSize = 5
	chunkSize  = 128 << 10 // bytes of a data frame's payload at most; a multiple of every number's width
	textLimit  = 8 << 10   // of JSON
	startLimit = 1 << 20   // of the addresses of all hosts
)

// limits are the longest payloads.
var limits = [kinds]uint32{
	kindHello: textLimit, kindChallenge: textLimit, kindProof: textLimit, kindRefused: textLimit, kindWelcome: textLimit,
	kindStart: startLimit, kindCall: claimSize + directLimit, kindData: chunkSize, kindRoom: 4, kindReport: textLimit, kindAbort: textLimit,
}

// A frame is what came in one.
type frame struct {
	kind    kind
	payload []byte
	buffer  *buffer // holds the payload; nil where that is a slice of its own
}

// A buffer is the memory of a frame: words, so that it can be read as numbers.
type buffer struct {
	words []uint64
	pool  *sync.Pool // where it comes from
}

// small and large are buffers for frames of calls and of data.
var small, large = newBuffers(claimSize + directLimit), newBuffers(chunkSize)

func newBuffers(length int) *sync.Pool {
	pool := new(sync.Pool)
	pool.New = func() any { return &buffer{make([]uint64, length/8), pool} }
	return pool
}

// recycle gives the memory of a frame back.
func (f frame) recycle() {
	if f.buffer != nil {
		f.buffer.pool.Put(f.buffer)
	}
}

var errBadFrame = errors.New("it sent what is no message of ours")

// readFrame reads one frame. It allocates no more than the kind of frame may have.
func readFrame(r io.Reader) (frame, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: kind(header[0])}
	length := binary.LittleEndian.Uint32(header[1:])
	if f.kind == 0 || f.kind >= kinds || length > limits[f.kind] {
		return frame{}, errBadFrame
	}
	switch {
	case f.kind != kindCall && f.kind != kindData:
		f.payload = make([]byte, length)
	case length <= claimSize+directLimit:
		f.buffer = small.Get().(*buffer)
	default:
		f.buffer = large.Get().(*buffer)
	}
	if f.buffer != nil {
		f.payload = memory(f.buffer.words)[:length]
	}
	if _, err := io.ReadFull(r, f.payload); err != nil {
		f.recycle()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return f, nil
}

// appendHeader begins a frame whose payload the caller appends.
func appendHeader(dst []byte, k kind, length int) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(k)), uint32(length))
}

func appendFrame(dst []byte, k kind, payload []byte) []byte {
	return append(appendHeader(dst, k, len(payload)), payload...)
}

// roomFrame gives back the room of n frames.
func roomFrame(n int) []byte {
	return binary.LittleEndian.AppendUint32(appendHeader(nil, kindRoom, 4), uint32(n))
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

func abortOf(err error) abort {
	a := abort{Reason: err.Error()}
	if lost, ok := errors.AsType[*LostError](err); ok {
		a = abort{lost.Host, lost.Err.Error()}
	}
	a.Lost, a.Reason = clip(a.Lost), clip(a.Reason)
	if a.Reason == "" { // an author's error may have no text
		a.Reason = "an error without a text"
	}
	return a
}

// parseAbort reads an abort, which always has a reason.
func parseAbort(payload []byte) (abort, error) {
	a, err := parseText[abort](payload)
	if err == nil && a.Reason == "" {
		err = errBadFrame
	}
	return a, err
}

// abortFrame returns the frame that tells err to others.
func abortFrame(err error) []byte { return textFrame(kindAbort, abortOf(err)) }

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
