package faultproxy

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A body passes an answer on and has a fault happen to it.
type body struct {
	http.ResponseWriter
	*failure
	armed   bool   // the fault is still to happen
	at      int64  // the byte where
	left    int64  // bytes until there
	swallow bool   // the rest
	excess  string // to be written after the rest
}

// Unwrap is for http.ResponseController.
func (b *body) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// WriteHeader changes the head of an answer where the fault is there, and chooses the byte where
// it is in the body.
func (b *body) WriteHeader(status int) {
	if status == http.StatusOK || status == http.StatusPartialContent {
		length, err := strconv.ParseInt(b.Header().Get("Content-Length"), 10, 64)
		if err == nil && length > 0 {
			status = b.arm(status, length)
		}
	}
	b.ResponseWriter.WriteHeader(status)
}

func (b *body) arm(status int, length int64) int {
	header := b.Header()
	b.at = b.place(length)
	b.left = b.at
	switch b.fault {
	case CutBody, ResetBody, StallBody, Trickle, Replace:
		b.armed = true
		return status // happens there
	case FlipByte:
		b.armed = status == http.StatusOK && hasChecksum(header)
		return status
	case ShortLength:
		header.Set("Content-Length", strconv.FormatInt(b.at, 10))
		b.armed = true
	case LongLength, LongBody:
		header.Set("Content-Length", strconv.FormatInt(length+int64(len(junk)), 10))
		if b.fault == LongBody {
			b.excess = junk
		}
	case ShortChunks:
		header.Del("Content-Length")
		b.armed = true
	case LongChunks:
		header.Del("Content-Length")
		b.excess = junk
	case WrongRange, NoRange:
		if status != http.StatusPartialContent {
			return status
		}
		if b.fault == WrongRange {
			header.Set("Content-Range", shift(header.Get("Content-Range")))
		} else {
			header.Del("Content-Range")
			status = http.StatusOK
		}
		b.armed, b.at, b.left = true, 0, 0
		b.excess = junk[:1] // for the first
	default: // is not of bodies
		return status
	}
	b.happens(b.at)
	return status
}

// place chooses a byte; the first and the last are special.
func (b *body) place(length int64) int64 {
	switch b.random.IntN(5) {
	case 0:
		return 0
	case 1:
		return length - 1
	}
	return b.random.Int64N(length)
}

// hasChecksum says whether the client can tell that a byte is another. That of an upload in parts
// is of their checksums, and clients do not verify it.
func hasChecksum(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "X-Amz-Checksum-") && name != "X-Amz-Checksum-Type" && !strings.Contains(h.Get(name), "-") {
			return true
		}
	}
	return false
}

var contentRange = regexp.MustCompile(`^bytes (\d+)-(\d+)/`)

// shift moves a Content-Range by one byte.
func shift(s string) string {
	return contentRange.ReplaceAllStringFunc(s, func(match string) string {
		var from, to int64
		fmt.Sscanf(match, "bytes %d-%d/", &from, &to)
		return fmt.Sprintf("bytes %d-%d/", from+1, to+1)
	})
}

// junk is what is too much.
const junk = "this does not belong here"

func (b *body) Write(p []byte) (int, error) {
	switch {
	case b.swallow:
		return len(p), nil
	case !b.armed, int64(len(p)) <= b.left:
		b.left -= int64(len(p))
		return b.ResponseWriter.Write(p)
	}
	head := p[:b.left]
	if n, err := b.ResponseWriter.Write(head); err != nil {
		return n, err
	}
	b.armed = false
	n, err := b.strike(p[len(head):])
	return len(head) + n, err
}

// strike has the fault happen, before the bytes p.
func (b *body) strike(p []byte) (int, error) {
	http.NewResponseController(b.ResponseWriter).Flush()
	switch b.fault {
	case ShortLength, ShortChunks: // told before
		b.swallow = true
		return len(p), nil
	case WrongRange, NoRange: // told before
		n, err := b.ResponseWriter.Write(p[1:])
		return n + 1, err
	case FlipByte:
		p = append([]byte{p[0] ^ 1<<b.random.IntN(8)}, p[1:]...)
	}
	b.happens(b.at)
	switch b.fault {
	case CutBody:
		panic(http.ErrAbortHandler)
	case ResetBody:
		reset(b.ResponseWriter)
	case StallBody:
		b.proxy.wait(b.request.Context())
		panic(http.ErrAbortHandler)
	case Replace:
		b.proxy.opts.Replace(split(b.request.URL))
		if b.random.IntN(2) == 0 {
			panic(http.ErrAbortHandler)
		}
	case Trickle:
		return b.trickle(p)
	}
	return b.ResponseWriter.Write(p)
}

// trickle writes up to sixteen pieces of p with pauses, and the rest at once.
func (b *body) trickle(p []byte) (int, error) {
	rest := p
	for range 1 + b.random.IntN(16) {
		piece := rest[:min(len(rest), 1+b.random.IntN(8))]
		if _, err := b.ResponseWriter.Write(piece); err != nil {
			return 0, err
		}
		http.NewResponseController(b.ResponseWriter).Flush()
		rest = rest[len(piece):]
		time.Sleep(time.Duration(b.random.Int64N(int64(b.proxy.opts.Pause))))
	}
	_, err := b.ResponseWriter.Write(rest)
	return len(p), err
}

// end is for faults after the last byte. Without a length, the flush keeps net/http from finding it out.
func (b *body) end() {
	if b.Header().Get("Content-Length") == "" {
		http.NewResponseController(b.ResponseWriter).Flush()
	}
	io.WriteString(b.ResponseWriter, b.excess)
}
