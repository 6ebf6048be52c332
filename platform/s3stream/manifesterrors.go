package s3stream

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound means that there is no object of a name that somebody gave.
var ErrNotFound = errors.New("no such object")

// A ManifestError says where a manifest is wrong.
type ManifestError struct {
	URI       string // of the manifest
	Entry     int    // of a Manifest, from 1 for what follows the prefix; 0 if it is none of them
	Line      int    // of an Augmented manifest, from 1; 0 if it is none of them
	Attribute string // on the line, or among those asked for; "" if it is none of them
	Err       error  // ErrNotFound, ErrNoObjects, io.ErrUnexpectedEOF, …
}

func (e *ManifestError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "manifest %s: ", e.URI)
	if e.Entry > 0 {
		fmt.Fprintf(&text, "entry %d: ", e.Entry)
	}
	if e.Line > 0 {
		fmt.Fprintf(&text, "line %d: ", e.Line)
	}
	if e.Attribute != "" {
		fmt.Fprintf(&text, "attribute %s: ", e.Attribute)
	}
	fmt.Fprint(&text, e.Err)
	return text.String()
}

func (e *ManifestError) Unwrap() error { return e.Err }

// ClientError reports that the data are at fault.
func (e *ManifestError) ClientError() bool { return true }
