package filemode

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"

	"github.com/algospec/algospec/platform/s3stream"
)

// A target is a file to make. Its bytes gather in a temporary file, whose name
// is the target's id.
type target struct {
	*s3stream.File
	id        string
	started   bool         // the temporary file was there when the download began
	allocated int64        // bytes of the file system that it had taken
	missing   []span       // what it lacked
	left      atomic.Int64 // how many of them it still lacks
}

// newTarget gives the file an id, which another version of the object, or
// another path, would not have.
func newTarget(f *s3stream.File) *target {
	o := &f.Object
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %d %d", f.Path, o.Bucket, o.Key, o.ETag, o.Size, o.LastModified.UnixNano())
	return &target{File: f, id: hex.EncodeToString(sum.Sum(nil)[:16])}
}

func (t *target) temp() string { return workshop + "/" + t.id }

// check refuses files that cannot be made. It returns the paths in use, and
// whether directories are to be there.
func check(files []s3stream.File) (map[string]bool, error) {
	paths := make(map[string]bool, len(files))
	for i := range files {
		f := &files[i]
		name := strings.TrimSuffix(f.Path, "/")
		first, _, _ := strings.Cut(name, "/")
		_, taken := paths[name]
		switch {
		case !fs.ValidPath(name) || name == ".":
			return nil, &FileError{f.Path, fs.ErrInvalid}
		case first == workshop:
			return nil, &FileError{f.Path, errReserved}
		case taken:
			return nil, &FileError{f.Path, fs.ErrExist}
		case !f.IsDir() && f.Object.Size < 0:
			return nil, &FileError{f.Path, errNoSize}
		}
		paths[name] = f.IsDir()
	}
	return paths, nil
}

// folder returns the directory that must be there for the file.
func folder(f *s3stream.File) string {
	if f.IsDir() {
		return strings.TrimSuffix(f.Path, "/")
	}
	return path.Dir(f.Path)
}
