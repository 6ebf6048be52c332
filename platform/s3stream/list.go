package s3stream

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// An Object is what a listing says about one object. Size bytes of it are
// read, under the condition that the ETag is still the same if there is one.
type Object struct {
	Bucket, Key, ETag string
	Size              int64
	LastModified      time.Time
}

// folder says whether the object stands for a folder.
func (o Object) folder() bool { return o.Size == 0 && strings.HasSuffix(o.Key, "/") }

// List returns the objects whose keys start with the key part of an S3 URI,
// s3://bucket/prefix, as a plain string: s3://bucket/a covers a, a/b and ab.
// They are in listing order, by the bytes of their keys. Empty objects with a
// key that ends in a slash, which some tools make as folders, are left out.
//
// It blocks for one request per thousand objects. A failure is a *ListError,
// which wraps ErrNoObjects if there are none.
func List(ctx context.Context, client Client, uri string) (Objects, error) {
	objects, err := ListTree(ctx, client, uri)
	return slices.DeleteFunc(objects, Object.folder), err
}

// ListTree is List with the objects that are folders among the others, for who
// makes directories of them. Folders alone are no objects.
func ListTree(ctx context.Context, client Client, uri string) (Objects, error) {
	bucket, prefix, err := ParseURI(uri)
	if err != nil {
		return nil, &ListError{uri, err}
	}
	in := &s3.ListObjectsV2Input{
		Bucket:       aws.String(bucket),
		EncodingType: types.EncodingTypeUrl, // XML cannot hold every key
	}
	if prefix != "" {
		in.Prefix = aws.String(prefix)
	}
	var objects Objects
	pages := s3.NewListObjectsV2Paginator(client, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, &ListError{uri, err}
		}
		if objects, err = appendPage(objects, bucket, page); err != nil {
			return nil, &ListError{uri, err}
		}
	}
	if !slices.ContainsFunc(objects, func(o Object) bool { return !o.folder() }) {
		return nil, &ListError{uri, ErrNoObjects}
	}
	return objects, nil
}

func appendPage(objects Objects, bucket string, page *s3.ListObjectsV2Output) (Objects, error) {
	for _, o := range page.Contents {
		key, size := aws.ToString(o.Key), aws.ToInt64(o.Size)
		if page.EncodingType == types.EncodingTypeUrl { // not every server does
			decoded, err := url.QueryUnescape(key)
			if err != nil {
				return nil, err
			}
			key = decoded
		}
		objects = append(objects, Object{bucket, key, aws.ToString(o.ETag), size, aws.ToTime(o.LastModified)})
	}
	return objects, nil
}

// ParseURI splits s3://bucket/prefix. The prefix may be empty.
func ParseURI(uri string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(uri, "s3://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return "", "", errURI
	}
	return bucket, prefix, nil
}

var errURI = errors.New("not of the form s3://bucket/prefix")
