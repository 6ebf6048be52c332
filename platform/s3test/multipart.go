package s3test

import (
	"cmp"
	"crypto/md5"
	"crypto/rand"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An upload is a multipart upload under way. Its parts lie on disk; the store's
// lock guards the map of them.
type upload struct {
	id, bucket, key string
	header          map[string]string
	parts           map[int]*newFile
}

func (s *store) findUpload(bucket, key, id string) (*upload, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if u := s.uploads[id]; u != nil && u.bucket == bucket && u.key == key {
		return u, nil
	}
	return nil, errNoSuchUpload
}

// dropUpload forgets an upload and the parts it still has.
func (s *store) dropUpload(u *upload) {
	s.mu.Lock()
	delete(s.uploads, u.id)
	parts := u.parts
	u.parts = nil
	s.mu.Unlock()
	for _, part := range parts {
		s.discard(part)
	}
}

// addPart gives a part to its upload, replacing one of the same number.
func (s *store) addPart(u *upload, number int, file *newFile) error {
	s.mu.Lock()
	old := u.parts[number]
	ended := u.parts == nil
	if !ended {
		u.parts[number] = file
	}
	s.mu.Unlock()
	if ended {
		s.discard(file)
		return errNoSuchUpload
	}
	if old != nil {
		s.discard(old)
	}
	return nil
}

func (s *store) discard(file *newFile) { os.Remove(file.path) }

func (a *api) createUpload(w http.ResponseWriter, r *http.Request, bucket, key string) error {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	if _, err := a.store.bucket(bucket); err != nil {
		return err
	}
	u := &upload{id: rand.Text(), bucket: bucket, key: key, header: objectHeader(r.Header), parts: map[int]*newFile{}}
	a.store.uploads[u.id] = u
	writeXML(w, http.StatusOK, struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}{Bucket: bucket, Key: key, UploadId: u.id})
	return nil
}

func (a *api) putPart(w http.ResponseWriter, r *http.Request, u *upload, partNumber string) error {
	number, err := parsePartNumber(partNumber)
	if err != nil {
		return err
	}
	file, checksum, err := a.receiveBody(r)
	if err != nil {
		return err
	}
	if err := a.store.addPart(u, number, file); err != nil {
		return err
	}
	w.Header().Set("ETag", quote(file.md5))
	for name, value := range checksum {
		w.Header().Set(name, value)
	}
	return nil
}

func (a *api) copyPart(w http.ResponseWriter, r *http.Request, u *upload, partNumber string) error {
	number, err := parsePartNumber(partNumber)
	if err != nil {
		return err
	}
	source, from, err := a.openSource(r)
	if err != nil {
		return err
	}
	defer from.Close()
	piece, ranged, err := parseRange(r.Header.Get("X-Amz-Copy-Source-Range"), source.Size)
	if err != nil {
		return err
	}
	if !ranged {
		piece = byteRange{0, source.Size}
	}
	file, err := a.store.receive(io.NewSectionReader(from, piece.start, piece.length), nil)
	if err != nil {
		return err
	}
	if err := a.store.addPart(u, number, file); err != nil {
		return err
	}
	writeXML(w, http.StatusOK, copied{xml.Name{Local: "CopyPartResult"}, quote(file.md5), time.Now().UTC()})
	return nil
}

func parsePartNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 10000 {
		return 0, errArgument("partNumber %q is not between 1 and 10000", s)
	}
	return n, nil
}

func (a *api) listParts(w http.ResponseWriter, u *upload) error {
	type part struct {
		PartNumber int
		ETag       string
		Size       int64
	}
	answer := struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListPartsResult"`
		Bucket, Key, UploadId string
		IsTruncated           bool
		Parts                 []part `xml:"Part"`
	}{Bucket: u.bucket, Key: u.key, UploadId: u.id}
	a.store.mu.RLock()
	defer a.store.mu.RUnlock()
	for _, number := range slices.Sorted(maps.Keys(u.parts)) {
		file := u.parts[number]
		answer.Parts = append(answer.Parts, part{number, quote(file.md5), file.size})
	}
	writeXML(w, http.StatusOK, answer)
	return nil
}

// listedPart names a part in the request that completes an upload.
type listedPart struct {
	PartNumber int
	ETag       string
}

func (a *api) completeUpload(w http.ResponseWriter, r *http.Request, u *upload) error {
	var request struct {
		Parts []listedPart `xml:"Part"`
	}
	if err := xml.NewDecoder(io.LimitReader(r.Body, 8<<20)).Decode(&request); err != nil || len(request.Parts) == 0 {
		return errXML
	}
	parts, err := a.store.chooseParts(u, request.Parts)
	if err != nil {
		return err
	}
	file, err := a.store.join(parts)
	if err != nil {
		return err
	}
	o := &object{Key: u.key, Header: u.header, ETag: fmt.Sprintf("%s-%d\"", strings.TrimSuffix(quote(file.md5), `"`), len(parts))}
	for _, part := range parts {
		o.Parts = append(o.Parts, part.size)
	}
	if err := a.store.commit(u.bucket, file, o, parseConditions(r.Header, "")); err != nil {
		return err
	}
	a.store.dropUpload(u)
	writeXML(w, http.StatusOK, struct {
		XMLName                     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
		Location, Bucket, Key, ETag string
	}{Location: "http://" + r.Host + r.URL.EscapedPath(), Bucket: u.bucket, Key: u.key, ETag: o.ETag})
	return nil
}

func (s *store) chooseParts(u *upload, list []listedPart) ([]*newFile, error) {
	byNumber := func(x, y listedPart) int { return cmp.Compare(x.PartNumber, y.PartNumber) }
	if !slices.IsSortedFunc(list, byNumber) {
		return nil, errPartOrder
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var files []*newFile
	for _, part := range list {
		file := u.parts[part.PartNumber]
		if file == nil || !matches(part.ETag, quote(file.md5)) {
			return nil, errPart
		}
		files = append(files, file)
	}
	return files, nil
}

// join writes parts one after the other into a new file, which the kernel
// does. Its md5 is that of their MD5s, as in S3's tags of such objects.
func (s *store) join(parts []*newFile) (*newFile, error) {
	whole := &newFile{path: filepath.Join(s.incoming(), rand.Text())}
	out, err := os.Create(whole.path)
	if err != nil {
		return nil, err
	}
	digest := md5.New()
	for _, part := range parts {
		digest.Write(part.md5)
		whole.size += part.size
		if err = appendFile(out, part.path); err != nil {
			break
		}
	}
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(whole.path)
		return nil, err
	}
	whole.md5 = digest.Sum(nil)
	return whole, nil
}

func appendFile(out *os.File, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}
