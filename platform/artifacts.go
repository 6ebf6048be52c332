package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/platform/internal/upload"
)

// A hostDir is a directory of a host's tree.
type hostDir struct {
	host, path string
	within     string // a directory above, out of which no link leads; "" means any may
}

// storeArchive stores what the directories hold together as one gzipped tar, made as it is sent. It reports
// whether there was anything. Where hosts have files of the same name, that of the last counts, and
// warn is told; it is told, too, of what is neither a file nor a link, which is left out. After an error there
// is no new object.
func storeArchive(ctx context.Context, client *s3.Client, bucket, key string, dirs []hostDir, warn func(string)) (stored bool, err error) {
	all, err := merge(dirs, warn)
	if err != nil {
		return false, err
	}
	defer all.close()
	if all.empty() {
		return false, nil
	}
	archive, w := io.Pipe()
	packed := make(chan error)
	go func() {
		err := pack(w, all.entries)
		w.CloseWithError(err)
		packed <- err
	}()
	err = upload.Stream(ctx, client, bucket, key, "application/x-tar", archive, packedSize(all.entries))
	archive.CloseWithError(errUploaded) // which ends pack, too, if it is not through
	if packErr := <-packed; packErr != nil && !errors.Is(packErr, errUploaded) {
		err = packErr
	}
	return err == nil, err
}

var errUploaded = errors.New("the upload has ended")

// storeFiles stores each file in the directories as an object of its own, whose key is prefix and the
// file's name. It is otherwise as storeArchive, and leaves links out. After an error some of the objects may be there.
func storeFiles(ctx context.Context, client *s3.Client, bucket, prefix string, dirs []hostDir, warn func(string)) (stored bool, err error) {
	all, err := merge(dirs, warn)
	if err != nil {
		return false, err
	}
	defer all.close()
	files := all.files(warn)
	for _, f := range files {
		if err := upload.CheckKey(prefix + f.name); err != nil {
			return false, f.wrap(err)
		}
	}
	group, uploads := errgroup.WithContext(ctx)
	group.SetLimit(filesAtATime)
	for _, f := range files {
		if uploads.Err() != nil {
			break
		}
		group.Go(func() error {
			return f.wrap(upload.File(uploads, client, bucket, prefix+f.name, f.root, f.name, f.info))
		})
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return len(files) > 0, nil
}

const filesAtATime = 4

// files returns the regular ones, and warns of the others.
func (m *merged) files(warn func(string)) (files []*entry) {
	for _, e := range m.entries {
		switch {
		case e.info.Mode().IsRegular():
			files = append(files, e)
		case e.info.Mode().Type() == fs.ModeSymlink:
			warn(fmt.Sprintf("%s of %s is not stored, as it is a symbolic link", shown(e.name), e.host))
		}
	}
	return files
}
