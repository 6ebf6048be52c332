package s3stream

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// headObject asks S3 for what a listing would say about an object. It returns
// context.Cause(ctx) once ctx is done, ErrNotFound or an *ObjectError.
func headObject(ctx context.Context, client Client, bucket, key string) (Object, error) {
	out, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	switch {
	case ctx.Err() != nil:
		return Object{}, context.Cause(ctx)
	case status(err) == http.StatusNotFound:
		return Object{}, ErrNotFound
	case err == nil && out.ContentLength == nil:
		err = errors.New("the answer does not say how long the object is")
	}
	if err != nil {
		return Object{}, &ObjectError{bucket, key, 0, err}
	}
	return Object{bucket, key, aws.ToString(out.ETag), *out.ContentLength, aws.ToTime(out.LastModified)}, nil
}

// maxKey bounds the bytes of a key, as S3 does.
const maxKey = 1024

// parseObjectURI splits s3://bucket/key.
func parseObjectURI(uri string) (bucket, key string, err error) {
	bucket, key, err = ParseURI(uri)
	switch {
	case err != nil || key == "":
		return "", "", errObjectURI
	case len(key) > maxKey:
		return "", "", errLongKey
	}
	return bucket, key, nil
}

var (
	errObjectURI = errors.New("not of the form s3://bucket/key")
	errLongKey   = errors.New("the key is longer than 1024 bytes")
)
