package s3test

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A page is one answer to a listing: keys and, with a delimiter, the prefixes
// that stand for several of them, both in key order.
type page struct {
	objects  []*object
	prefixes []string
	next     string // where the following page begins; "" after the last
	last     string // key or prefix at the end of the page
}

// list collects up to limit keys that start with prefix, from the key from on.
func (s *store) list(bucket, prefix, delimiter, from string, limit int) (page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, err := s.bucket(bucket)
	if err != nil {
		return page{}, err
	}
	var p page
	keys := b.objects.Iter()
	for ok := keys.Seek(max(prefix, from)); ok && strings.HasPrefix(keys.Key(), prefix); {
		if len(p.objects)+len(p.prefixes) == limit {
			if limit > 0 {
				p.next = keys.Key()
			}
			break
		}
		if group, found := groupOf(keys.Key(), prefix, delimiter); found {
			p.prefixes, p.last = append(p.prefixes, group), group
			ok = keys.Seek(after(group))
			continue
		}
		p.objects, p.last = append(p.objects, keys.Value()), keys.Key()
		ok = keys.Next()
	}
	return p, nil
}

// groupOf cuts a key after the first delimiter that follows the prefix.
func groupOf(key, prefix, delimiter string) (string, bool) {
	if delimiter == "" {
		return "", false
	}
	head, _, found := strings.Cut(key[len(prefix):], delimiter)
	return prefix + head + delimiter, found
}

// after returns a string behind all keys that start with group, as no UTF-8
// has that byte.
func after(group string) string { return group + "\xff" }

// A listing is the answer to ListObjects and ListObjectsV2.
type listing struct {
	XMLName      xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name         string
	Prefix       string
	Delimiter    string `xml:",omitempty"`
	EncodingType string `xml:",omitempty"`
	MaxKeys      int
	IsTruncated  bool

	KeyCount              *int   // these four of version 2
	StartAfter            string `xml:",omitempty"`
	ContinuationToken     string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`

	Marker     *string // these two of version 1
	NextMarker string  `xml:",omitempty"`

	Contents       []listedObject
	CommonPrefixes []listedPrefix
}

type listedObject struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
	StorageClass string
}

type listedPrefix struct{ Prefix string }

func (a *api) listObjectsV2(w http.ResponseWriter, query url.Values, bucket string) error {
	token := query.Get("continuation-token")
	from := ""
	if start := query.Get("start-after"); start != "" {
		from = start + "\x00"
	}
	if query.Has("continuation-token") {
		text, err := base64.URLEncoding.DecodeString(token)
		if err != nil || len(text) == 0 {
			return errArgument("The continuation token provided is incorrect")
		}
		from = string(text)
	}
	answer, p, err := a.listPage(query, bucket, from)
	if err != nil {
		return err
	}
	count := len(answer.Contents) + len(answer.CommonPrefixes)
	answer.KeyCount = &count
	answer.StartAfter = query.Get("start-after")
	answer.ContinuationToken = token
	if answer.IsTruncated {
		answer.NextContinuationToken = base64.URLEncoding.EncodeToString([]byte(p.next))
	}
	writeXML(w, http.StatusOK, answer)
	return nil
}

func (a *api) listObjectsV1(w http.ResponseWriter, query url.Values, bucket string) error {
	marker, delimiter := query.Get("marker"), query.Get("delimiter")
	from := ""
	switch {
	case delimiter != "" && strings.HasSuffix(marker, delimiter): // the NextMarker of a group
		from = after(marker)
	case marker != "":
		from = marker + "\x00"
	}
	answer, p, err := a.listPage(query, bucket, from)
	if err != nil {
		return err
	}
	answer.Marker = &marker
	if answer.IsTruncated && delimiter != "" {
		answer.NextMarker = p.last
	}
	writeXML(w, http.StatusOK, answer)
	return nil
}

// listPage does what both versions share.
func (a *api) listPage(query url.Values, bucket, from string) (*listing, page, error) {
	limit := 1000
	if text := query.Get("max-keys"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, page{}, errArgument("max-keys %q", text)
		}
		limit = min(limit, n)
	}
	encode := func(s string) string { return s }
	if query.Get("encoding-type") == "url" {
		encode = escapeKey
	}
	p, err := a.store.list(bucket, query.Get("prefix"), query.Get("delimiter"), from, limit)
	if err != nil {
		return nil, page{}, err
	}
	answer := &listing{
		Name:         bucket,
		Prefix:       encode(query.Get("prefix")),
		Delimiter:    encode(query.Get("delimiter")),
		EncodingType: query.Get("encoding-type"),
		MaxKeys:      limit,
		IsTruncated:  p.next != "",
	}
	for _, o := range p.objects {
		answer.Contents = append(answer.Contents, listedObject{
			encode(o.Key), o.Modified.Format(time.RFC3339), o.ETag, o.Size, "STANDARD",
		})
	}
	for _, prefix := range p.prefixes {
		answer.CommonPrefixes = append(answer.CommonPrefixes, listedPrefix{encode(prefix)})
	}
	return answer, p, nil
}

// escapeKey is the encoding-type url: XML cannot hold every key.
func escapeKey(key string) string {
	return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
}
