package s3stream

import (
	"context"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

// A Manifest names objects by what comes after a common prefix in their URIs
// (S3DataType ManifestFile):
//
//	[{"prefix": "s3://bucket/some/"}, "part-0", "more/part-1"]
//
// The two are joined as they stand, with no slash put between them.
type Manifest struct {
	Prefix  string  // as the manifest gives it, such as s3://bucket/some/
	Objects Objects // in the manifest's order, and as often as it has them
}

// ReadManifest reads the manifest that is the object at uri and asks S3 for the
// size of each object that it names. Keys are no paths: "../x" is one, too.
// Empty objects with a key that ends in a slash are left out, as by List.
//
// It blocks for the bytes of the manifest and then for a request per distinct
// key, 32 at a time, which the client repeats if they fail. It returns
// context.Cause(ctx) once ctx is done, an *ObjectError where S3 fails, and
// otherwise a *ManifestError, which wraps ErrNotFound where there is no object
// of a name, and ErrNoObjects if no object is left.
func ReadManifest(ctx context.Context, client Client, uri string) (*Manifest, error) {
	text, _, err := openManifest(ctx, client, uri)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	p, err := parseManifest(uri, text)
	if err != nil {
		return nil, err
	}
	if err := p.describe(ctx, client); err != nil {
		return nil, err
	}
	m := p.manifest // without the parser behind it
	return &m, nil
}

// maxManifest bounds the bytes of a manifest of either kind: what is larger is
// data that was taken for one.
const maxManifest = 1 << 30

// openManifest finds a manifest and its size. The caller closes it.
func openManifest(ctx context.Context, client Client, uri string) (text io.ReadCloser, size int64, err error) {
	bucket, key, err := parseObjectURI(uri)
	if err != nil {
		return nil, 0, &ManifestError{URI: uri, Err: err}
	}
	object, err := headObject(ctx, client, bucket, key)
	switch {
	case err == ErrNotFound:
		return nil, 0, &ManifestError{URI: uri, Err: err}
	case err != nil:
		return nil, 0, err
	case object.Size > maxManifest:
		return nil, 0, &ManifestError{URI: uri, Err: fmt.Errorf("%d bytes; a manifest has %d at most", object.Size, maxManifest)}
	}
	return OpenRange(ctx, client, object, 0, object.Size, Options{}), object.Size, nil
}

// headsAtATime hides the time that S3 takes to answer one.
const headsAtATime = 32

// describe asks for the size of each object, once for each key.
func (p *manifestParser) describe(ctx context.Context, client Client) error {
	objects := p.manifest.Objects
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(headsAtATime)
	for i := range objects {
		if p.first[objects[i].Key] != i || groupCtx.Err() != nil {
			continue
		}
		group.Go(func() (err error) {
			o := &objects[i]
			bucket, key := o.Bucket, o.Key
			if *o, err = headObject(groupCtx, client, bucket, key); err == ErrNotFound {
				err = &ManifestError{URI: p.uri, Entry: i + 1, Err: fmt.Errorf("s3://%s/%s: %w", bucket, key, err)}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range objects {
		objects[i] = objects[p.first[objects[i].Key]]
	}
	p.manifest.Objects = slices.DeleteFunc(objects, Object.folder)
	if len(p.manifest.Objects) == 0 {
		return &ManifestError{URI: p.uri, Err: ErrNoObjects}
	}
	return nil
}
