package s3test

import (
	"net/http"
	"strings"
	"time"
)

// conditions are the If- headers of a request; the zero value always holds.
type conditions struct {
	match, noneMatch               string
	modifiedSince, unmodifiedSince time.Time
}

// parseConditions reads If-Match and its kin, or with a prefix such as
// X-Amz-Copy-Source- the conditions on the source of a copy.
func parseConditions(h http.Header, prefix string) conditions {
	date := func(name string) time.Time {
		t, _ := http.ParseTime(h.Get(prefix + name)) // an unreadable date is none
		return t
	}
	return conditions{
		match:           h.Get(prefix + "If-Match"),
		noneMatch:       h.Get(prefix + "If-None-Match"),
		modifiedSince:   date("If-Modified-Since"),
		unmodifiedSince: date("If-Unmodified-Since"),
	}
}

// allowRead says whether o may be read. RFC 9110, 13.2.2, gives the order.
func (c conditions) allowRead(o *object) error {
	switch {
	case c.match != "" && !matches(c.match, o.ETag):
		return errPrecondition
	case c.match == "" && !c.unmodifiedSince.IsZero() && o.Modified.After(c.unmodifiedSince):
		return errPrecondition
	case c.noneMatch != "" && matches(c.noneMatch, o.ETag):
		return errNotModified
	case c.noneMatch == "" && !c.modifiedSince.IsZero() && !o.Modified.After(c.modifiedSince):
		return errNotModified
	}
	return nil
}

// allowWrite says whether old, nil if there is none, may be replaced.
func (c conditions) allowWrite(old *object) error {
	switch {
	case c.match != "" && old == nil:
		return errNoSuchKey
	case c.match != "" && !matches(c.match, old.ETag):
		return errPrecondition
	case c.noneMatch != "" && old != nil && matches(c.noneMatch, old.ETag):
		return errPrecondition
	}
	return nil
}

// matches says whether a list of tags holds etag.
func matches(list, etag string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == "*" || strings.Trim(tag, `"`) == strings.Trim(etag, `"`) {
			return true
		}
	}
	return false
}
