package filemode

import (
	"bufio"
	"errors"
	"io/fs"
	"path"

	"github.com/algospec/algospec/platform/s3stream"
)

// resume finds out what an earlier run has left to do, clears away what is of no
// use, and begins a new record of what is.
func (d *download) resume(files []s3stream.File, paths map[string]bool) error {
	boot := bootID()
	known, temps, err := d.read(boot)
	if err != nil {
		return d.failure(workshop, err)
	}
	delete(temps, path.Base(freshFile))
	file, err := d.root.Create(freshFile)
	if err != nil {
		return d.failure(workshop, err)
	}
	d.record = &record{file: file}
	fresh := bufio.NewWriter(file)
	fresh.Write(line(header{boot})) // Flush returns the error
	for i := range files {
		if files[i].IsDir() {
			continue
		}
		t := newTarget(&files[i])
		have := d.take(t, known[t.id], temps)
		for _, s := range have {
			fresh.Write(line(entry{t.id, t.Path, t.Object.Size, s}))
		}
	}
	if err := errors.Join(d.clear(known, paths, temps), fresh.Flush()); err != nil {
		return d.failure(workshop, err)
	}
	return d.failure(workshop, d.root.Rename(freshFile, recordFile))
}

// read returns what the record knows and the temporary files that are there.
func (d *download) read(boot string) (map[string]*past, map[string]fs.FileInfo, error) {
	temps := map[string]fs.FileInfo{}
	entries, err := d.shop.ReadDir(-1)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if temps[e.Name()], err = d.root.Lstat(workshop + "/" + e.Name()); err != nil {
			return nil, nil, err
		}
	}
	delete(temps, path.Base(recordFile))
	file, err := d.root.Open(recordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, temps, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	return readRecord(file, boot), temps, nil
}

// take makes the file a target, unless it is whole, and returns what is there of
// it already.
func (d *download) take(t *target, p *past, temps map[string]fs.FileInfo) (have []span) {
	if p != nil && t.Object.ETag != "" { // without one nothing tells a new version
		have = p.spans
	}
	size := t.Object.Size
	t.missing = missing(have, size, d.opts.PartSize)
	temp, started := temps[t.id]
	switch {
	case started && temp.Mode().IsRegular() && temp.Size() == size && len(have) > 0:
		t.started, t.allocated = true, allocated(temp)
		delete(temps, t.id)
	case len(t.missing) == 0 && d.stands(t):
		d.progress.total += size
		d.progress.done += size
		return have
	default:
		have, t.missing = nil, missing(nil, size, d.opts.PartSize)
	}
	d.progress.total += size
	d.progress.done += size - bytesOf(t.missing)
	d.targets = append(d.targets, t)
	return have
}

// stands says whether the file under the target's name is as Download leaves one.
func (d *download) stands(t *target) bool {
	info, err := d.root.Lstat(t.Path)
	modified := t.Object.LastModified
	return err == nil && info.Mode().IsRegular() && info.Size() == t.Object.Size &&
		(modified.IsZero() || info.ModTime().Equal(modified))
}

// clear removes temporary files that nobody wants, and files that an earlier run
// made of objects that are no longer listed, with the directories they leave
// empty.
func (d *download) clear(known map[string]*past, paths map[string]bool, temps map[string]fs.FileInfo) error {
	for name := range temps {
		if err := d.root.RemoveAll(workshop + "/" + name); err != nil {
			return err
		}
	}
	for _, p := range known {
		if isDir, listed := paths[p.path]; listed && !isDir || !p.whole() {
			continue
		}
		info, err := d.root.Lstat(p.path)
		if err != nil || !info.Mode().IsRegular() || info.Size() != p.size {
			continue // not there any more
		}
		if err := d.root.Remove(p.path); err != nil {
			return err
		}
		for dir := path.Dir(p.path); dir != "." && d.root.Remove(dir) == nil; dir = path.Dir(dir) {
		}
	}
	return nil
}
