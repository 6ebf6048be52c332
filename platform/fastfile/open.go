package fastfile

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// Open implements fs.FS. A file is also an io.ReaderAt and an io.Seeker, of
// which ReadAt may be called from several goroutines. Reads block until S3 has
// answered and return what it said as an *s3stream.ObjectError within an
// *fs.PathError.
func (f *FS) Open(name string) (fs.File, error) {
	n, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.isDir() {
		return &openDir{node: n, path: name}, nil
	}
	return &openFile{reader: f.open(n), path: name}, nil
}

// Stat implements fs.StatFS.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	n, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// ReadDir implements fs.ReadDirFS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := f.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.isDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	return entries(n.children), nil
}

// ReadFile implements fs.ReadFileFS.
func (f *FS) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	open, is := file.(*openFile)
	if !is {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	content := make([]byte, open.file.size())
	n, err := open.ReadAt(content, 0)
	return content[:n], err
}

func (f *FS) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n := f.tree.nodes[0].walk(name)
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

// An openFile is a reader that has a place in the file.
type openFile struct {
	*reader
	path string
	at   int64
}

func (o *openFile) Stat() (fs.FileInfo, error) { return info{o.file}, nil }

func (o *openFile) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := o.ReadAt(p, o.at)
	o.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (o *openFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, o.failure("read", fs.ErrInvalid)
	}
	if o.isClosed() {
		return 0, o.failure("read", fs.ErrClosed)
	}
	n, err := o.readAt(o.fs.ctx, p, off)
	if err != nil && err != io.EOF {
		err = o.failure("read", err)
	}
	return n, err
}

func (o *openFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.file.size()
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, o.failure("seek", fs.ErrInvalid)
	}
	o.at = offset
	return offset, nil
}

func (o *openFile) Close() error {
	if o.isClosed() {
		return o.failure("close", fs.ErrClosed)
	}
	o.close()
	return nil
}

func (o *openFile) failure(op string, err error) error {
	return &fs.PathError{Op: op, Path: o.path, Err: err}
}

// An openDir is a directory and how much of it has been listed.
type openDir struct {
	*node
	path   string
	listed int
}

func (o *openDir) Stat() (fs.FileInfo, error) { return info{o.node}, nil }
func (o *openDir) Close() error               { return nil }

func (o *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.path, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	left := o.children[o.listed:]
	if n > 0 {
		if len(left) == 0 {
			return nil, io.EOF
		}
		left = left[:min(n, len(left))]
	}
	o.listed += len(left)
	return entries(left), nil
}

func entries(nodes []*node) []fs.DirEntry {
	list := make([]fs.DirEntry, len(nodes))
	for i, n := range nodes {
		list[i] = fs.FileInfoToDirEntry(info{n})
	}
	return list
}

// An info describes a node.
type info struct{ *node }

func (i info) Size() int64        { return i.node.size() }
func (i info) ModTime() time.Time { return i.modified }
func (i info) IsDir() bool        { return i.isDir() }
func (i info) Sys() any           { return i.object }

func (i info) Name() string {
	if i.parent == i.node {
		return "."
	}
	return i.name
}

func (i info) Mode() fs.FileMode {
	if i.isDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
