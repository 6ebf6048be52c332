// Package upload stores streams and files as S3 objects, each whole or not at all.
package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/smithy-go"
)

// Client is the part of S3 that uploads need.
type Client = transfermanager.S3APIClient

const (
	partSize    = 8 << 20
	maxParts    = 10_000
	concurrency = 4                // parts of an object at a time
	aborting    = 30 * time.Second // for the last request of an upload that failed or was cancelled
)

// Stream stores what body holds, to its end. An error from body, or of the upload, leaves the object
// that was there before, if any, and no unfinished upload as far as S3 still answers. Memory is bounded by
// a few parts, whose size follows from most, the number of bytes that body may hold.
func Stream(ctx context.Context, client Client, bucket, key, contentType string, body io.Reader, most int64) error {
	return put(ctx, client, most, &transfermanager.UploadObjectInput{
		Bucket: aws.String(bucket), Key: aws.String(key), Body: body, ContentType: aws.String(contentType),
	})
}

func put(ctx context.Context, client Client, most int64, in *transfermanager.UploadObjectInput) error {
	if err := CheckKey(*in.Key); err != nil {
		return err
	}
	part := partSizeOf(most)
	_, err := transfermanager.New(client).UploadObject(ctx, in, func(o *transfermanager.Options) {
		o.PartSizeBytes, o.MultipartUploadThreshold = part, part
		o.Concurrency, o.FailTimeout = concurrency, aborting
	})
	switch {
	case errors.Is(err, ErrChanged):
		return ErrChanged // without what the transfer manager says about it
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return explain(*in.Bucket, err)
}

// partSizeOf has so many bytes fit into the parts that S3 takes.
func partSizeOf(most int64) int64 { return max(partSize, most/maxParts+1) }

// CheckKey says why S3 would not take a key, with ErrKey.
func CheckKey(key string) error {
	switch {
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrKey)
	case len(key) > maxKey:
		return fmt.Errorf("%w: it would have %d bytes, and %d are allowed", ErrKey, len(key), maxKey)
	}
	return nil
}

const maxKey = 1024

// ErrKey means that a file's name makes no key of an object.
var ErrKey = errors.New("no valid S3 key")

// explain names the bucket where that is what is wrong.
func explain(bucket string, err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode() {
	case "NoSuchBucket", "AccessDenied", "PermanentRedirect":
		return fmt.Errorf("bucket %q: please ensure that it exists in the selected region "+
			"and that the role may call s3:PutObject on it: %w", bucket, err)
	}
	return err
}
