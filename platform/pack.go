package platform

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"

	"github.com/klauspost/compress/gzip"

	"github.com/algospec/algospec/platform/internal/upload"
)

// pack writes the entries as a gzipped tar.
func pack(w io.Writer, entries []*entry) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		if err := packEntry(archive, e); err != nil {
			return e.wrap(err)
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func packEntry(archive *tar.Writer, e *entry) (err error) {
	link := ""
	if e.info.Mode().Type() == fs.ModeSymlink {
		if link, err = e.root.Readlink(e.name); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(e.info, link)
	if err != nil {
		return err
	}
	header.Name = e.name
	if e.info.IsDir() {
		header.Name += "/"
	}
	// Who ran the job here means nothing elsewhere.
	header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
	if err := archive.WriteHeader(header); err != nil || !e.info.Mode().IsRegular() {
		return err
	}
	file, err := upload.Open(e.root, e.name, e.info)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(archive, file)
	return err
}

// packedSize returns how large the archive can become, with what headers take and
// bytes that do not compress.
func packedSize(entries []*entry) (size int64) {
	for _, e := range entries {
		size += e.info.Size() + 4*int64(len(e.name)) + 8<<10
	}
	return size + size/1000
}
