package s3test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// An apiError is an answer of S3 that is not a success.
type apiError struct {
	status  int
	code    string
	message string
}

func (e *apiError) Error() string { return "s3test: " + e.code + ": " + e.message }

var (
	errBucketName     = &apiError{400, "InvalidBucketName", "The specified bucket is not valid."}
	errBucketExists   = &apiError{409, "BucketAlreadyOwnedByYou", "The bucket exists and is yours."}
	errBucketNotEmpty = &apiError{409, "BucketNotEmpty", "The bucket you tried to delete is not empty."}
	errNoSuchBucket   = &apiError{404, "NoSuchBucket", "The specified bucket does not exist."}
	errNoSuchKey      = &apiError{404, "NoSuchKey", "The specified key does not exist."}
	errNoSuchUpload   = &apiError{404, "NoSuchUpload", "The specified multipart upload does not exist."}
	errKeyName        = &apiError{400, "InvalidURI", "The key is empty or not UTF-8."}
	errKeyTooLong     = &apiError{400, "KeyTooLongError", "Your key is too long."}
	errPrecondition   = &apiError{412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold."}
	errNotModified    = &apiError{304, "NotModified", "The object was not modified."}
	errRange          = &apiError{416, "InvalidRange", "The requested range is not satisfiable."}
	errDigest         = &apiError{400, "BadDigest", "The checksum you specified did not match what was received."}
	errIncomplete     = &apiError{400, "IncompleteBody", "The body has not the number of bytes that its header says."}
	errXML            = &apiError{400, "MalformedXML", "The XML you provided was not well-formed."}
	errPart           = &apiError{400, "InvalidPart", "A part could not be found, or its ETag is another."}
	errPartOrder      = &apiError{400, "InvalidPartOrder", "The list of parts was not in ascending order."}
	errNotImplemented = &apiError{501, "NotImplemented", "This server does not offer the operation."}
)

func errArgument(format string, args ...any) error {
	return &apiError{400, "InvalidArgument", fmt.Sprintf(format, args...)}
}

// writeError answers a request whose response has not begun.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	answer := asAPIError(err)
	if answer.status == http.StatusNotModified || r.Method == http.MethodHead {
		w.WriteHeader(answer.status)
		return
	}
	writeXML(w, answer.status, struct {
		XMLName  xml.Name `xml:"Error"`
		Code     string
		Message  string
		Resource string
	}{Code: answer.code, Message: answer.message, Resource: r.URL.Path})
}

func asAPIError(err error) *apiError {
	var answer *apiError
	switch {
	case errors.As(err, &answer):
		return answer
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errIncomplete
	}
	return &apiError{500, "InternalError", err.Error()}
}

func writeXML(w http.ResponseWriter, status int, v any) {
	text, err := xml.Marshal(v)
	if err != nil {
		panic(err) // our own types
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	io.WriteString(w, xml.Header)
	w.Write(text)
}
