package s3test

import (
	"crypto/rand"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// putObject answers PutObject.
func (a *api) putObject(w http.ResponseWriter, r *http.Request, bucket, key string) error {
	file, checksum, err := a.receiveBody(r)
	if err != nil {
		return err
	}
	o := &object{Key: key, ETag: quote(file.md5), Header: objectHeader(r.Header), Checksum: checksum}
	if err := a.store.commit(bucket, file, o, parseConditions(r.Header, "")); err != nil {
		return err
	}
	w.Header().Set("ETag", o.ETag)
	for name, value := range checksum {
		w.Header().Set(name, value)
	}
	return nil
}

// objectHeader picks the headers that belong to the object.
func objectHeader(h http.Header) map[string]string {
	kept := map[string]string{}
	for name := range h {
		switch {
		case name == "Content-Encoding":
			if v := withoutChunked(h.Get(name)); v != "" {
				kept[name] = v
			}
		case name == "Content-Type", name == "Content-Disposition", name == "Content-Language",
			name == "Cache-Control", name == "Expires", strings.HasPrefix(name, "X-Amz-Meta-"):
			kept[name] = strings.Join(h.Values(name), ",")
		}
	}
	return kept
}

// copyObject answers CopyObject. The copy is a hard link.
func (a *api) copyObject(w http.ResponseWriter, r *http.Request, bucket, key string) error {
	source, from, err := a.openSource(r)
	if err != nil {
		return err
	}
	defer from.Close()
	file := &newFile{path: filepath.Join(a.store.incoming(), rand.Text()), size: source.Size}
	if err := os.Link(from.Name(), file.path); err != nil {
		return err
	}
	o := &object{Key: key, ETag: source.ETag, Header: source.Header, Checksum: source.Checksum, Parts: source.Parts}
	if r.Header.Get("X-Amz-Metadata-Directive") == "REPLACE" {
		o.Header = objectHeader(r.Header)
	}
	if err := a.store.commit(bucket, file, o, parseConditions(r.Header, "")); err != nil {
		return err
	}
	writeXML(w, http.StatusOK, copied{XMLName: xml.Name{Local: "CopyObjectResult"}, ETag: o.ETag, LastModified: o.Modified})
	return nil
}

// copied is the answer to CopyObject and UploadPartCopy.
type copied struct {
	XMLName      xml.Name
	ETag         string
	LastModified time.Time
}

// openSource opens the object that X-Amz-Copy-Source names.
func (a *api) openSource(r *http.Request) (*object, *os.File, error) {
	escaped, _, _ := strings.Cut(r.Header.Get("X-Amz-Copy-Source"), "?")
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, nil, errArgument("x-amz-copy-source: %v", err)
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	o, file, err := a.store.open(bucket, key)
	if err != nil {
		return nil, nil, err
	}
	if err := parseConditions(r.Header, "X-Amz-Copy-Source-").allowRead(o); err != nil {
		file.Close()
		return nil, nil, errPrecondition
	}
	return o, file, nil
}

// deleteObjects answers DeleteObjects.
func (a *api) deleteObjects(w http.ResponseWriter, r *http.Request, bucket string) error {
	body, err := newPayload(r)
	if err != nil {
		return err
	}
	var request struct {
		Objects []struct{ Key string } `xml:"Object"`
		Quiet   bool
	}
	if err := xml.NewDecoder(io.LimitReader(body, 8<<20)).Decode(&request); err != nil {
		return errXML
	}
	type deleted struct{ Key string }
	var answer struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
		Deleted []deleted
	}
	for _, o := range request.Objects {
		if err := a.store.remove(bucket, o.Key); err != nil {
			return err
		}
		if !request.Quiet {
			answer.Deleted = append(answer.Deleted, deleted{o.Key})
		}
	}
	writeXML(w, http.StatusOK, answer)
	return nil
}
