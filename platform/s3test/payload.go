package s3test

import (
	"bufio"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// A payload is the body of a request without its wrapping. SDKs wrap it as
// aws-chunked to sign it in pieces or to send a checksum after it:
//
//	10000;chunk-signature=…\r\n (bytes) \r\n … 0\r\n x-amz-checksum-crc32:…\r\n\r\n
//
// which is the chunked encoding of HTTP with extensions and trailers.
type payload struct {
	io.Reader
	size    int64                                // -1 if it is not known
	trailer func() (textproto.MIMEHeader, error) // to be called at the end
}

func newPayload(r *http.Request) (*payload, error) {
	streaming := strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-")
	chunked := strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked")
	if !streaming && !chunked {
		none := func() (textproto.MIMEHeader, error) { return nil, nil }
		return &payload{Reader: r.Body, size: r.ContentLength, trailer: none}, nil
	}
	p := &payload{size: -1}
	if text := r.Header.Get("X-Amz-Decoded-Content-Length"); text != "" {
		size, err := strconv.ParseInt(text, 10, 64)
		if err != nil || size < 0 {
			return nil, errArgument("x-amz-decoded-content-length %q", text)
		}
		p.size = size
	}
	buffer := bufio.NewReaderSize(r.Body, 64<<10)
	p.Reader = httputil.NewChunkedReader(buffer) // leaves the trailer in the buffer
	p.trailer = func() (textproto.MIMEHeader, error) {
		header, err := textproto.NewReader(buffer).ReadMIMEHeader()
		if errors.Is(err, io.EOF) && len(header) == 0 {
			err = nil // no trailer, no empty line
		}
		return header, err
	}
	return p, nil
}

// receiveBody stores the body of a PUT and checks it against the length, the
// MD5 and the checksum that came with it. It returns the checksum too.
func (a *api) receiveBody(r *http.Request) (*newFile, map[string]string, error) {
	body, err := newPayload(r)
	if err != nil {
		return nil, nil, err
	}
	name, sum := chooseChecksum(r.Header)
	file, err := a.store.receive(body, sum)
	if err != nil {
		return nil, nil, err
	}
	checksum, err := body.verify(r.Header, file, name, sum)
	if err != nil {
		a.store.discard(file)
		return nil, nil, err
	}
	return file, checksum, nil
}

func (p *payload) verify(header http.Header, file *newFile, name string, sum hash.Hash) (map[string]string, error) {
	trailer, err := p.trailer()
	if err != nil {
		return nil, err
	}
	if p.size >= 0 && p.size != file.size {
		return nil, errIncomplete
	}
	if want := header.Get("Content-Md5"); want != "" && want != base64.StdEncoding.EncodeToString(file.md5) {
		return nil, errDigest
	}
	if sum == nil {
		return nil, nil
	}
	got := base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if want := header.Get(name) + trailer.Get(name); want != got {
		return nil, errDigest
	}
	return map[string]string{name: got}, nil
}

// chooseChecksum finds the checksum that comes before the body or after it:
// the name of its header and its hash, nil if there is none.
func chooseChecksum(h http.Header) (string, hash.Hash) {
	for name, newHash := range checksums {
		announced := slices.ContainsFunc(h.Values("X-Amz-Trailer"), func(v string) bool { return strings.EqualFold(v, name) })
		if announced || h.Get(name) != "" {
			return name, newHash()
		}
	}
	return "", nil
}

// withoutChunked drops aws-chunked, which S3 does not keep, from a
// Content-Encoding.
func withoutChunked(encoding string) string {
	var kept []string
	for part := range strings.SplitSeq(encoding, ",") {
		if part = strings.TrimSpace(part); part != "" && part != "aws-chunked" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}
