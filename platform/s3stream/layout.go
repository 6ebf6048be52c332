package s3stream

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A File is an object and where it goes below a channel's directory in File and
// FastFile mode.
type File struct {
	Path   string // relative and clean, with slashes; one at its end makes it a directory
	Object Object
}

// IsDir reports whether the file is a directory, for an object that stands for
// a folder.
func (f File) IsDir() bool { return strings.HasSuffix(f.Path, "/") }

// Layout says where the objects below an S3 URI go (S3Prefix), in their order:
//
//	the URI names the object         its base name: s3://b/data/x.csv gives x.csv
//	the URI ends in a slash          what follows it
//	a slash follows the URI          what follows that
//	the URI is the start of a name   from that name on: s3://b/data/tr gives train/x.csv
//
// The rule goes by the key, so that one URI may give files of several kinds
// (container contract, 3.1). Empty objects with a key that ends in a slash are
// directories; where that is the channel's own directory they are left out.
//
// Names are checked over all objects: take the shard of a host, if it gets only
// one, from the result. A failure is a *LayoutError.
func Layout(uri string, objects Objects) ([]File, error) {
	_, prefix, err := ParseURI(uri)
	if err != nil {
		return nil, &LayoutError{URI: uri, Err: err}
	}
	return layOut(uri, objects, func(key string) (string, error) { return below(prefix, key) })
}

// LayoutManifest says where the objects of a manifest go (ManifestFile). The
// service was seen to keep the whole key, the part that is in the manifest's
// prefix too; relative drops that, and one slash after it. An object that the
// manifest names twice is one file. Otherwise it is like Layout.
func LayoutManifest(prefix string, objects Objects, relative bool) ([]File, error) {
	_, start, err := ParseURI(prefix)
	if err != nil {
		return nil, &LayoutError{URI: prefix, Err: err}
	}
	return layOut(prefix, objects, func(key string) (string, error) {
		rest, ok := strings.CutPrefix(key, start)
		switch {
		case !ok:
			return "", errElsewhere
		case !relative:
			return key, nil
		case start != "" && !strings.HasSuffix(start, "/"):
			return strings.TrimPrefix(rest, "/"), nil
		}
		return rest, nil
	})
}

// LayoutFastFile is Layout for FastFile mode, where an S3 URI without a slash at
// its end must be the whole name of one object or one folder: a key beside them
// that starts with it is ErrPartialPrefix. Give it all that ListTree found.
func LayoutFastFile(uri string, objects Objects) ([]File, error) {
	_, prefix, err := ParseURI(uri)
	if err != nil {
		return nil, &LayoutError{URI: uri, Err: err}
	}
	exact := len(objects) == 1 && objects[0].Key == prefix
	if prefix != "" && !strings.HasSuffix(prefix, "/") && !exact {
		beside := func(o Object) bool { return !strings.HasPrefix(o.Key, prefix+"/") }
		if i := slices.IndexFunc(objects, beside); i >= 0 {
			return nil, &LayoutError{uri, objects[i].Key, ErrPartialPrefix}
		}
	}
	return Layout(uri, objects)
}

// below is the table of the container contract, 3.1.
func below(prefix, key string) (string, error) {
	rest, ok := strings.CutPrefix(key, prefix)
	switch {
	case !ok:
		return "", errElsewhere
	case prefix == "" || strings.HasSuffix(prefix, "/"):
		return rest, nil
	case strings.HasPrefix(rest, "/"):
		return rest[1:], nil
	}
	return key[strings.LastIndexByte(prefix, '/')+1:], nil
}

// layOut places each object and checks that they fit into one directory.
func layOut(uri string, objects Objects, place func(key string) (string, error)) ([]File, error) {
	files := make([]File, 0, len(objects))
	all := names{files: map[string]*Object{}, dirs: map[string]*Object{}}
	for i := range objects {
		o := &objects[i]
		name, err := place(o.Key)
		if err == nil && name == "" && o.folder() {
			continue // the channel's directory
		}
		if err == nil {
			err = checkPath(name, o.folder())
		}
		added := false
		if err == nil {
			added, err = all.add(name, o)
		}
		if err != nil {
			return nil, &LayoutError{uri, o.Key, err}
		}
		if added {
			files = append(files, File{name, *o})
		}
	}
	return files, nil
}

// Limits of Linux.
const (
	maxElement = 255
	maxPath    = 4096
)

// checkPath says what is wrong with a path; that of a folder ends in a slash.
func checkPath(name string, folder bool) error {
	if len(name) > maxPath {
		return fmt.Errorf("its path is longer than %d bytes", maxPath)
	}
	if strings.ContainsRune(name, 0) {
		return errors.New("its path has a zero byte")
	}
	if folder {
		name = strings.TrimSuffix(name, "/")
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case element == "":
			return errors.New("its path has an empty element")
		case element == "." || element == "..":
			return fmt.Errorf("its path has the element %q", element)
		case len(element) > maxElement:
			return fmt.Errorf("its path has an element of more than %d bytes", maxElement)
		}
	}
	return nil
}

// names are those in use below a directory, and the objects that brought them.
type names struct{ files, dirs map[string]*Object }

// add takes a checked path into use. It returns false where it was in use for
// the same object, or for the same directory.
func (n names) add(name string, o *Object) (bool, error) {
	name, isDir := strings.CutSuffix(name, "/")
	dir := name
	if !isDir {
		if other := n.files[name]; other != nil && (other.Bucket != o.Bucket || other.Key != o.Key) {
			return false, fmt.Errorf("key %q has the same path, %q", other.Key, name)
		} else if other != nil {
			return false, nil
		}
		if other := n.dirs[name]; other != nil {
			return false, fmt.Errorf("its path %q is a directory of key %q", name, other.Key)
		}
		n.files[name] = o
		dir = path.Dir(name)
	}
	fresh := !isDir
	for ; dir != "." && n.dirs[dir] == nil; dir = path.Dir(dir) {
		if other := n.files[dir]; other != nil {
			return false, fmt.Errorf("its directory %q is the file of key %q", dir, other.Key)
		}
		n.dirs[dir], fresh = o, true
	}
	return fresh, nil
}

// ErrPartialPrefix means that an S3 URI is not the whole name of a folder, which
// FastFile mode wants.
var ErrPartialPrefix = errors.New("partial S3 prefix")

var errElsewhere = errors.New("it does not start as the URI does")

// A LayoutError says which object has no place in a channel's directory.
type LayoutError struct {
	URI string // of the channel, or a manifest's prefix
	Key string // "" where the URI itself is at fault
	Err error  // ErrPartialPrefix or what is wrong with the key
}

// Error returns, for ErrPartialPrefix, a text that begins like that of the
// service.
func (e *LayoutError) Error() string {
	switch {
	case errors.Is(e.Err, ErrPartialPrefix):
		return fmt.Sprintf("For FastFile mode, partial S3 prefix is not supported: %q is also the start of key %q. "+
			"Please end the prefix of a folder with a slash.", e.URI, e.Key)
	case e.Key == "":
		return fmt.Sprintf("Data download failed: %s: %v", e.URI, e.Err)
	}
	return fmt.Sprintf("Data download failed: key %q of %s: %v", e.Key, e.URI, e.Err)
}

func (e *LayoutError) Unwrap() error { return e.Err }

// ClientError reports that the data are at fault.
func (e *LayoutError) ClientError() bool { return true }
