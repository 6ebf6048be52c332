package filemode

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/platform/s3stream"
)

// Download copies the files' objects below dir, which it makes if need be. The
// files are those of s3stream.Layout, or some of them; the sizes of their objects
// must be known. Files have mode 0644 and their object's time, new directories
// mode 0755. It blocks until all files are whole, and returns the first error,
// which ends the rest: an *s3stream.ObjectError where an object is at fault, a
// *SpaceError before anything is fetched if there is not enough space, else a
// *FileError, or context.Cause(ctx).
//
// A file appears under its name when it is whole, in place of one that was there.
// Other files in dir stay as they are. Nothing is written outside dir, whatever
// symbolic links it holds. Memory does not grow with the objects' sizes.
//
// After an error, or a kill, a hidden directory in dir holds the bytes that did
// arrive and a record of them, and Download into dir starts from there: files of
// objects with the same ETag, size and time are not fetched again, of large ones
// only the parts that are missing, and files whose objects are no longer listed
// are removed. Nothing is synced to disk: once the system has crashed, all is
// fetched again. With success the hidden directory goes away. Only one Download at
// a time may work in dir; a second gets ErrBusy, where directories can be locked.
func Download(ctx context.Context, client s3stream.Client, dir string, files []s3stream.File, opts Options) error {
	paths, err := check(files)
	if err != nil {
		return err
	}
	d := &download{client: client, opts: opts.withDefaults(), dir: dir, made: map[string]bool{".": true}}
	d.progress.report = opts.Progress
	for i := range files {
		d.need += max(0, files[i].Object.Size)
	}
	defer d.close()
	if err := d.open(); err != nil {
		return d.failure("", err)
	}
	if err := d.resume(files, paths); err != nil {
		return err
	}
	if err := d.checkSpace(); err != nil {
		return err
	}
	if err := d.fetchAll(ctx, files); err != nil {
		return err
	}
	return d.failure(workshop, d.root.RemoveAll(workshop))
}

// A download is one run of Download.
type download struct {
	client   s3stream.Client
	opts     Options
	dir      string
	root     *os.Root // of dir
	shop     *os.File // the workshop, locked
	record   *record
	made     map[string]bool // directories that are there
	targets  []*target       // files that are not whole yet
	need     int64           // bytes that they will take of the file system, once that is known
	progress progress
}

// fetchAll makes the files, in their order as far as several at a time have one.
func (d *download) fetchAll(ctx context.Context, files []s3stream.File) error {
	for i := range files {
		if err := d.makeDir(folder(&files[i])); err != nil {
			return d.failure(files[i].Path, err)
		}
	}
	d.progress.add(0)
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(d.opts.Concurrency)
	for _, t := range d.targets {
		if running.Err() != nil {
			break
		}
		if err := d.prepare(t); err != nil {
			group.Go(func() error { return d.failure(t.Path, err) })
			break
		}
		for _, s := range t.missing {
			group.Go(func() error { return d.fetch(running, t, s) })
		}
		if len(t.missing) == 0 { // an earlier run was killed just before the end
			group.Go(func() error { return d.failure(t.Path, d.finish(t)) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// prepare makes the temporary file of a target that is fetched in parts.
func (d *download) prepare(t *target) error {
	t.left.Store(int64(len(t.missing)))
	if t.started || len(t.missing) < 2 {
		return nil
	}
	file, err := d.root.OpenFile(t.temp(), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	return allocate(file, t.Object.Size)
}

// fetch brings a span, and finishes the file if it was the last.
func (d *download) fetch(ctx context.Context, t *target, s span) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	file, err := d.root.OpenFile(t.temp(), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return d.failure(t.Path, err)
	}
	body := s3stream.OpenRange(ctx, d.client, t.Object, s.From, s.To, d.opts.Stream)
	err = d.copy(t, io.NewOffsetWriter(file, s.From), body)
	body.Close()
	closed := file.Close() // some file systems write only now
	if err != nil {
		return err
	}
	if closed != nil {
		return d.failure(t.Path, closed)
	}
	if err := d.record.add(t, s); err != nil {
		return d.failure(t.Path, err)
	}
	if t.left.Add(-1) > 0 {
		return nil
	}
	return d.failure(t.Path, d.finish(t))
}

func (d *download) copy(t *target, to io.Writer, body io.Reader) error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		n, err := body.Read(buffer[:])
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return d.failure(t.Path, err)
			}
			d.progress.add(int64(n))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err // says itself what and where
		}
	}
}

const bufferSize = 128 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// finish gives a whole file its name.
func (d *download) finish(t *target) error {
	if err := d.root.Chmod(t.temp(), 0o644); err != nil { // whatever the umask is
		return err
	}
	if modified := t.Object.LastModified; !modified.IsZero() {
		if err := d.root.Chtimes(t.temp(), modified, modified); err != nil {
			return err
		}
	}
	return d.root.Rename(t.temp(), t.Path)
}

// failure says which file an error is about, and nothing of no error.
func (d *download) failure(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case full(err):
		return &SpaceError{d.dir, path, d.need, space(d.dir), err}
	}
	return &FileError{filepath.Join(d.dir, path), err}
}
