package s3stream

import (
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// passing says whether the next try may fare better.
func passing(err error) bool {
	if _, cert := errors.AsType[*tls.CertificateVerificationError](err); cert {
		return false
	}
	if _, is := errors.AsType[broken](err); is {
		return true
	}
	if _, unsent := errors.AsType[*smithyhttp.RequestSendError](err); unsent {
		return true // names that do not resolve, refused and reset connections
	}
	switch code := status(err); {
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return true
	case code >= 400:
		return expired(err) || retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
	case code >= 300:
		return code == http.StatusTemporaryRedirect // else the bucket is in another region
	case code >= 200:
		return true // an answer that could not be read
	}
	return false
}

// throttled says whether S3 asked for fewer requests.
func throttled(err error) bool {
	return status(err) == http.StatusTooManyRequests || status(err) == http.StatusServiceUnavailable ||
		retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
}

// expired says whether the credentials have run out.
func expired(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains([]string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}, api.ErrorCode())
}

// renewCredentials has a client ask its provider for credentials before the
// next request, whatever it thinks of those it has. Once is enough for all the
// requests that were sent before.
func renewCredentials(client Client, asked time.Time, renewed *atomic.Int64) {
	last := renewed.Load()
	if last > asked.UnixNano() || !renewed.CompareAndSwap(last, time.Now().UnixNano()) {
		return
	}
	if c, ok := client.(interface{ Options() s3.Options }); ok {
		if cache, ok := c.Options().Credentials.(*aws.CredentialsCache); ok {
			cache.Invalidate()
		}
	}
}

// Passing says whether a request that failed with err may fare better later, as none does that S3
// found wrong, or that it denied.
func Passing(err error) bool { return passing(err) }

// Refused says whether S3 found a request itself wrong, such as for a bucket that does not exist or
// lets nobody in.
func Refused(err error) bool { return refused(err) }
