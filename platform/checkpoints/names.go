package checkpoints

import (
	"path"
	"slices"
	"strings"

	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform/filemode"
)

// What the names of markers end in.
const (
	uploading = ".sagemaker-uploading"
	uploaded  = ".sagemaker-uploaded"
)

// private says whether a file or directory stays out of S3, by its name.
func private(name string) bool {
	base := path.Base(name)
	return atomicfile.Unfinished(base) || strings.HasSuffix(base, uploading) || strings.HasSuffix(base, uploaded) ||
		name == filemode.Reserved
}

// privatePath says so of a path, any of whose elements may be private.
func privatePath(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), private)
}

// folder makes of an S3 URI the prefix of what lies below it, without siblings whose names begin alike.
func folder(uri string) string {
	if strings.HasSuffix(uri, "/") {
		return uri
	}
	return uri + "/"
}
