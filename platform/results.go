package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform/s3stream"
)

// upload stores what has changed in the checkpoint directories, and the named directories of the
// hosts: "model" and "output".
func (a *attempt) upload(ctx context.Context, result *Result, names ...string) error {
	ctx, done := unhurried(ctx)
	defer done()
	// What can be stored is, whatever else cannot.
	errs := []error{a.storeCheckpoints(ctx)}
	for _, name := range names {
		uri, err := a.store(ctx, name)
		if name == "model" {
			result.ModelArtifacts = uri
		} else {
			result.Output = uri
			result.Pictures, result.PicturesErr = a.pictures()
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return a.fail("ClientError: Artifact upload failed: "+err.Error(), err)
	}
	return nil
}

// store stores what the hosts' "model" or "output" directories hold, below <OutputPath>/<job>/output
// (container contract, 4.5), and returns the URI. Directories without files store nothing.
func (a *attempt) store(ctx context.Context, name string) (uri string, err error) {
	bucket, prefix, err := s3stream.ParseURI(a.job.OutputPath)
	if err != nil {
		return "", err
	}
	var dirs []hostDir
	for _, h := range a.hosts {
		dir := h.tree.model()
		if name == "output" {
			dir = h.tree.output()
		}
		dirs = append(dirs, hostDir{h.name, dir, h.confines()})
	}
	if name == "output" && a.job.OutputFromFirstHost {
		dirs = dirs[:1]
	}
	warn := func(text string) { a.job.logger().Warn(text) }
	key, form := path.Join(prefix, a.job.Name, "output")+"/"+name+".tar.gz", storeArchive
	if a.job.OutputCompression == "NONE" {
		folder := map[string]string{"model": "model/", "output": "data/"}[name]
		key, form = path.Join(prefix, a.job.Name, "output")+"/"+folder, storeFiles
	}
	stored, err := form(ctx, a.job.S3, bucket, key, dirs, warn)
	if err != nil || !stored {
		return "", err
	}
	return "s3://" + bucket + "/" + key, nil
}

// pictures reads what the first host describes that describes any.
func (a *attempt) pictures() ([]algospec.Picture, error) {
	for _, h := range a.hosts {
		pictures, err := h.tree.pictures()
		if !errors.Is(err, fs.ErrNotExist) {
			return pictures, err
		}
	}
	return nil, nil
}

// pictures reads the host's description of its pictures. A link out of the tree is not followed, and of a FIFO
// nothing is awaited.
func (t hostTree) pictures() ([]algospec.Picture, error) {
	root, err := os.OpenRoot(t.output())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(algospec.PicturesFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, fmt.Errorf("%s: not a regular file", algospec.PicturesFile))
	}
	return algospec.ReadPictures(file)
}

func (a *attempt) storeCheckpoints(ctx context.Context) error {
	var errs []error
	for _, h := range a.hosts {
		if h.mirror != nil {
			errs = append(errs, h.mirror.Final(ctx))
		}
	}
	return errors.Join(errs...)
}
