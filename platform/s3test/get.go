package s3test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// getObject answers GetObject and HeadObject.
func (a *api) getObject(w http.ResponseWriter, r *http.Request, query url.Values, bucket, key string) error {
	o, file, err := a.store.open(bucket, key)
	if err != nil {
		return err
	}
	defer file.Close()
	header := w.Header()
	header.Set("ETag", o.ETag)
	header.Set("Last-Modified", o.Modified.Format(http.TimeFormat))
	if err := parseConditions(r.Header, "").allowRead(o); err != nil {
		return err
	}
	part, partial, err := chooseRange(r.Header.Get("Range"), query.Get("partNumber"), o, header)
	if err != nil {
		return err
	}
	header.Set("Accept-Ranges", "bytes")
	header.Set("Content-Type", "binary/octet-stream")
	for name, value := range o.Header {
		header.Set(name, value)
	}
	if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" && !partial {
		for name, value := range o.Checksum {
			header.Set(name, value)
		}
	}
	header.Set("Content-Length", strconv.FormatInt(part.length, 10))
	status := http.StatusOK
	if partial {
		status = http.StatusPartialContent
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.start, part.start+part.length-1, o.Size))
	}
	if _, err := file.Seek(part.start, io.SeekStart); err != nil {
		return err
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		io.CopyN(w, file, part.length) // sendfile; an error is the client's leaving
	}
	return nil
}

// A byteRange is a piece of an object.
type byteRange struct{ start, length int64 }

// chooseRange finds the piece of o that a request wants, and whether that is
// an answer 206. Either argument may be empty.
func chooseRange(ranged, partNumber string, o *object, header http.Header) (byteRange, bool, error) {
	whole := byteRange{0, o.Size}
	if partNumber == "" {
		piece, ok, err := parseRange(ranged, o.Size)
		if !ok {
			piece = whole
		}
		return piece, ok, err
	}
	n, err := strconv.Atoi(partNumber)
	switch {
	case err != nil || n < 1:
		return whole, false, errArgument("partNumber %s", partNumber)
	case n == 1 && len(o.Parts) == 0:
		return whole, o.Size > 0, nil
	case n > len(o.Parts):
		return whole, false, &apiError{416, "InvalidPartNumber", "The requested partnumber is not satisfiable."}
	}
	header.Set("X-Amz-Mp-Parts-Count", strconv.Itoa(len(o.Parts)))
	piece := byteRange{length: o.Parts[n-1]}
	for _, size := range o.Parts[:n-1] {
		piece.start += size
	}
	return piece, true, nil
}

// parseRange reads a Range header for a body of size bytes. As S3 does, it
// takes what it cannot read and several ranges for none: ok is false.
func parseRange(s string, size int64) (piece byteRange, ok bool, err error) {
	s, found := strings.CutPrefix(s, "bytes=")
	first, last, dash := strings.Cut(s, "-")
	if !found || !dash {
		return piece, false, nil
	}
	from, fromErr := strconv.ParseInt(first, 10, 64)
	to, toErr := strconv.ParseInt(last, 10, 64)
	switch {
	case first == "" && toErr == nil && to >= 0: // the last bytes
		piece.length = min(to, size)
		piece.start = size - piece.length
		if piece.length == 0 {
			return piece, true, errRange
		}
		return piece, true, nil
	case fromErr != nil || from < 0:
		return piece, false, nil
	case last == "":
		to = size - 1
	case toErr != nil || to < from:
		return piece, false, nil
	}
	if from >= size {
		return piece, true, errRange
	}
	return byteRange{from, min(to, size-1) - from + 1}, true, nil
}
