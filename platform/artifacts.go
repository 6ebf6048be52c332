package platform

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"

	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform/s3stream"
)

// store packs dir into <OutputPath>/<job>/output/<name> (container contract, 4.5), streaming, and
// returns that object's URI. An empty directory stores nothing.
func (r *run) store(ctx context.Context, dir, name string) (uri string, err error) {
	empty, err := atomicfile.Empty(dir)
	if err != nil || empty {
		return "", err
	}
	bucket, prefix, err := s3stream.ParseURI(r.job.OutputPath)
	if err != nil {
		return "", err
	}
	key := path.Join(prefix, r.job.Name, "output", name)

	archive, w := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		w.CloseWithError(pack(w, dir))
	}()
	_, err = transfermanager.New(r.job.S3).UploadObject(ctx, &transfermanager.UploadObjectInput{
		Bucket: aws.String(bucket), Key: aws.String(key), Body: archive, ContentType: aws.String("application/x-tar"),
	})
	archive.CloseWithError(errors.New("the upload has ended")) // which ends pack, too, if it is not through
	<-packed
	if err != nil {
		return "", err
	}
	return "s3://" + bucket + "/" + key, nil
}

// pack writes what is in dir as a gzipped tar, with names relative to dir, in their order.
func pack(w io.Writer, dir string) error {
	dir, err := filepath.EvalSymlinks(dir) // WalkDir would not go into a link
	if err != nil {
		return err
	}
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if atomicfile.Unfinished(entry.Name()) {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := packEntry(archive, path, name, entry); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	return errors.Join(err, archive.Close(), compressed.Close())
}

func packEntry(archive *tar.Writer, path, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode().Type() == fs.ModeSymlink {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name = filepath.ToSlash(name)
	if info.IsDir() {
		header.Name += "/"
	}
	// Who ran the job here means nothing elsewhere.
	header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
	if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(archive, file)
	return err
}
