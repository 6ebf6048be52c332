package checkpoints

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/algospec/algospec/platform/internal/upload"
	"github.com/algospec/algospec/platform/s3stream"
)

// An Error says which files S3 does not hold as they are.
type Error struct {
	URI   string // the folder
	Files []FileError
}

// A FileError is what is wrong with one file, or with a directory that could not be read.
type FileError struct {
	Name string // relative to the directory
	Err  error
}

// Error names the first files.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Checkpoint upload failed: %s: ", e.URI)
	for i, f := range e.Files[:min(len(e.Files), 5)] {
		if i > 0 {
			text.WriteString("; ")
		}
		fmt.Fprintf(&text, "%q: %v", f.Name, f.Err)
	}
	if more := len(e.Files) - 5; more > 0 {
		fmt.Fprintf(&text, "; and %d more", more)
	}
	return text.String()
}

func (e *Error) Unwrap() (all []error) {
	for _, f := range e.Files {
		all = append(all, f.Err)
	}
	return all
}

// ClientError reports whether the bucket, the rights or the files' names are at fault, and not the network or S3.
func (e *Error) ClientError() bool {
	return !slices.ContainsFunc(e.Files, func(f FileError) bool { return !errors.Is(f.Err, upload.ErrKey) && !s3stream.Refused(f.Err) })
}

// hopeful says whether a further try may store or delete more.
func (m *Mirror) hopeful() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for f := range maps.Values(m.files) {
		if f.since != 0 && (errors.Is(f.err, upload.ErrChanged) || s3stream.Passing(f.err)) {
			return true
		}
	}
	return false
}

// failures returns an *Error if there is one.
func (m *Mirror) failures() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var files []FileError
	for name, err := range m.unseen {
		files = append(files, FileError{name, err})
	}
	for name, f := range m.files {
		if f.since != 0 && f.err != nil {
			files = append(files, FileError{name, f.err})
		}
	}
	if files == nil {
		return nil
	}
	slices.SortFunc(files, func(a, b FileError) int { return cmp.Compare(a.Name, b.Name) })
	return &Error{"s3://" + m.bucket + "/" + m.prefix, files}
}
