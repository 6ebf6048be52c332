package s3stream

import (
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

var (
	// ErrChanged means that an object is not the one that was listed.
	ErrChanged = errors.New("the object changed after it was listed")

	// ErrVanished means that an object was deleted after it was listed.
	ErrVanished = errors.New("the object is gone since it was listed")

	// ErrChecksum means that the bytes of an object are not those that S3 has
	// a checksum of. Some of them may have been delivered before that was known.
	ErrChecksum = errors.New("checksum mismatch")

	// ErrNoObjects means that no key starts with a prefix.
	ErrNoObjects = errors.New("no objects")
)

// An ObjectError says which object could not be read to its end.
type ObjectError struct {
	Bucket, Key string
	Offset      int64 // first byte of the object that is missing
	Err         error // ErrChanged, ErrVanished, ErrGzip, io.ErrUnexpectedEOF or what the client returned
}

func (e *ObjectError) Error() string {
	return fmt.Sprintf("Data download failed: s3://%s/%s at byte %d: %v", e.Bucket, e.Key, e.Offset, e.Err)
}

func (e *ObjectError) Unwrap() error { return e.Err }

// ClientError reports whether the data or the settings are at fault, and not
// the network or S3.
func (e *ObjectError) ClientError() bool {
	return errors.Is(e.Err, ErrChanged) || errors.Is(e.Err, ErrVanished) || errors.Is(e.Err, ErrGzip) || refused(e.Err)
}

// A ListError says which S3 URI could not be listed.
type ListError struct {
	URI string
	Err error // ErrNoObjects or what the client returned
}

// Error returns, where no objects were found, the text of the service.
func (e *ListError) Error() string {
	if errors.Is(e.Err, ErrNoObjects) {
		return fmt.Sprintf(`No S3 objects found under S3 URL "%s" given in input data source. `+
			"Please ensure that the bucket exists in the selected region, that objects exist under that prefix, "+
			"and that the role may call s3:ListBucket on the bucket.", e.URI)
	}
	return fmt.Sprintf("list %s: %v", e.URI, e.Err)
}

func (e *ListError) Unwrap() error { return e.Err }

// ClientError reports whether the URI or the rights are at fault, and not the
// network or S3.
func (e *ListError) ClientError() bool {
	return errors.Is(e.Err, ErrNoObjects) || errors.Is(e.Err, errURI) || refused(e.Err)
}

// explain names the two answers of GetObject that concern the list.
func explain(err error) error {
	switch status(err) {
	case http.StatusNotFound:
		return ErrVanished
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return ErrChanged
	}
	return err
}

// refused says whether S3 found the request itself wrong, such as for a bucket
// that does not exist, lets nobody in, or is in another region.
func refused(err error) bool {
	switch code := status(err); code {
	case http.StatusTemporaryRedirect, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	default:
		return code >= 300 && code < 500
	}
}

// status returns the HTTP status that is behind an error of the SDK, or 0.
func status(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}
