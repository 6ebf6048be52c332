package s3test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	region    = "us-east-1"
	namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
)

// An api serves the store over HTTP.
type api struct {
	store    *store
	requests atomic.Uint64
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "s3test")
	w.Header().Set("X-Amz-Request-Id", fmt.Sprintf("%016X", a.requests.Add(1)))
	if err := a.route(w, r); err != nil {
		writeError(w, r, err)
	}
}

func (a *api) route(w http.ResponseWriter, r *http.Request) error {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	switch {
	case slices.ContainsFunc(otherResources, query.Has):
		return errNotImplemented
	case key != "":
		if err := validKey(key); err != nil {
			return err
		}
		return a.routeObject(w, r, query, bucket, key)
	case bucket != "":
		return a.routeBucket(w, r, query, bucket)
	case r.Method == http.MethodGet:
		return a.listBuckets(w)
	}
	return errNotImplemented
}

// otherResources are query parameters that ask for something else than the
// object or the bucket itself, and must not be taken for that.
var otherResources = []string{
	"accelerate", "acl", "analytics", "attributes", "cors", "encryption", "intelligent-tiering", "inventory",
	"legal-hold", "lifecycle", "logging", "metrics", "notification", "object-lock", "ownershipControls", "policy",
	"policyStatus", "publicAccessBlock", "replication", "requestPayment", "restore", "retention", "select", "session",
	"tagging", "torrent", "versionId", "versioning", "versions", "website",
}

func (a *api) routeObject(w http.ResponseWriter, r *http.Request, query url.Values, bucket, key string) error {
	copying := r.Header.Get("X-Amz-Copy-Source") != ""
	if query.Has("uploads") {
		if r.Method == http.MethodPost {
			return a.createUpload(w, r, bucket, key)
		}
		return errNotImplemented
	}
	if query.Has("uploadId") {
		u, err := a.store.findUpload(bucket, key, query.Get("uploadId"))
		if err != nil {
			return err
		}
		switch {
		case r.Method == http.MethodPut && copying:
			return a.copyPart(w, r, u, query.Get("partNumber"))
		case r.Method == http.MethodPut:
			return a.putPart(w, r, u, query.Get("partNumber"))
		case r.Method == http.MethodPost:
			return a.completeUpload(w, r, u)
		case r.Method == http.MethodGet:
			return a.listParts(w, u)
		case r.Method == http.MethodDelete:
			a.store.dropUpload(u)
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return errNotImplemented
	}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return a.getObject(w, r, query, bucket, key)
	case r.Method == http.MethodPut && copying:
		return a.copyObject(w, r, bucket, key)
	case r.Method == http.MethodPut:
		return a.putObject(w, r, bucket, key)
	case r.Method == http.MethodDelete:
		if err := a.store.remove(bucket, key); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return errNotImplemented
}

func (a *api) routeBucket(w http.ResponseWriter, r *http.Request, query url.Values, bucket string) error {
	switch {
	case query.Has("uploads"):
		return errNotImplemented
	case r.Method == http.MethodPost && query.Has("delete"):
		return a.deleteObjects(w, r, bucket)
	case r.Method == http.MethodPut:
		w.Header().Set("Location", "/"+bucket)
		return a.store.createBucket(bucket)
	case r.Method == http.MethodDelete:
		if err := a.store.deleteBucket(bucket); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case r.Method == http.MethodGet && query.Get("list-type") == "2":
		return a.listObjectsV2(w, query, bucket)
	case r.Method == http.MethodGet && !query.Has("location"):
		return a.listObjectsV1(w, query, bucket)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return a.describeBucket(w, r, bucket)
	}
	return errNotImplemented
}

// describeBucket answers HeadBucket and GetBucketLocation.
func (a *api) describeBucket(w http.ResponseWriter, r *http.Request, bucket string) error {
	a.store.mu.RLock()
	_, err := a.store.bucket(bucket)
	a.store.mu.RUnlock()
	if err != nil {
		return err
	}
	w.Header().Set("X-Amz-Bucket-Region", region)
	if r.Method == http.MethodGet {
		writeXML(w, http.StatusOK, struct { // empty stands for us-east-1
			XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
		}{})
	}
	return nil
}

func (a *api) listBuckets(w http.ResponseWriter) error {
	type entry struct{ Name, CreationDate string }
	var answer struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
		Owner   struct{ ID string }
		Buckets []entry `xml:"Buckets>Bucket"`
	}
	answer.Owner.ID = "s3test"
	a.store.mu.RLock()
	for name, b := range a.store.buckets {
		answer.Buckets = append(answer.Buckets, entry{name, b.created.Format(time.RFC3339)})
	}
	a.store.mu.RUnlock()
	slices.SortFunc(answer.Buckets, func(x, y entry) int { return strings.Compare(x.Name, y.Name) })
	writeXML(w, http.StatusOK, answer)
	return nil
}
