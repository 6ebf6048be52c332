package upload

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
)

// ErrChanged means that a file is not, or not any more, what it was when it was looked at.
var ErrChanged = errors.New("the file changed while it was stored")

// Same says whether two looks saw one version of one file.
func Same(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// File stores the file name in root as it was when info was taken. Where it changes before its last
// byte is read, that is ErrChanged, and nothing is stored.
func File(ctx context.Context, client Client, bucket, key string, root *os.Root, name string, info fs.FileInfo) error {
	version, err := Open(root, name, info)
	if err != nil {
		return err
	}
	defer version.Close()
	in := &transfermanager.UploadObjectInput{Bucket: aws.String(bucket), Key: aws.String(key), Body: version}
	if size := info.Size(); size > 0 {
		in.ContentLength = aws.Int64(size) // which S3 verifies
	}
	return put(ctx, client, info.Size(), in)
}

// A Version reads a regular file to its end, which it reports only if the file is the same as before.
type Version struct {
	file *os.File
	info fs.FileInfo
	left int64
}

// Open opens a file if it is still the one that info is of, and ErrChanged otherwise. It does not wait for a
// FIFO that has taken its place, and does not leave root.
func Open(root *os.Root, name string, info fs.FileInfo) (*Version, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, err
	}
	now, err := file.Stat()
	if err == nil && (!now.Mode().IsRegular() || !Same(now, info)) {
		err = ErrChanged
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Version{file, info, info.Size()}, nil
}

// Read returns ErrChanged instead of io.EOF, or of bytes that were not there when the file was looked at,
// if the file has changed.
func (v *Version) Read(p []byte) (int, error) {
	n, err := v.file.Read(p)
	if v.left -= int64(n); v.left < 0 {
		return 0, ErrChanged
	}
	if err != io.EOF {
		return n, err
	}
	if now, err := v.file.Stat(); err != nil {
		return 0, err
	} else if v.left > 0 || !Same(now, v.info) {
		return 0, ErrChanged
	}
	return n, io.EOF
}

// Close closes the file.
func (v *Version) Close() error { return v.file.Close() }

// OpenDir opens a directory below within by way of no link that leads out of there: "" does not
// care, and has links lead anywhere.
func OpenDir(dir, within string) (*os.Root, error) {
	if within == "" {
		return os.OpenRoot(dir)
	}
	name, err := filepath.Rel(within, dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(within)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(name)
}

// ReadDir reads the directory that info is of. In its place something else does not exist, and is
// not waited for.
func ReadDir(root *os.Root, name string, info fs.FileInfo) ([]fs.DirEntry, error) {
	dir, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a FIFO by now
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if now, err := dir.Stat(); err != nil {
		return nil, err
	} else if !os.SameFile(now, info) {
		return nil, fs.ErrNotExist
	}
	return dir.ReadDir(-1)
}
