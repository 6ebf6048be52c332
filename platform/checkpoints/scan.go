package checkpoints

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/algospec/algospec/platform/internal/upload"
)

// scan finds out which files are new, different or gone. It opens directories and no files. Where
// a directory cannot be read, what is below it counts as it was: only what is seen to be gone is deleted.
func (m *Mirror) scan() {
	m.mu.Lock()
	m.scans++
	m.unseen = map[string]error{}
	m.mu.Unlock()
	root, err := upload.OpenDir(m.dir, m.opts.Within)
	if err != nil {
		m.notSeen(".", err)
		return
	}
	defer root.Close()
	info, err := root.Lstat(".")
	if err != nil {
		m.notSeen(".", err)
		return
	}
	m.scanDir(root, ".", info)
	m.missGone()
}

func (m *Mirror) scanDir(root *os.Root, name string, info fs.FileInfo) {
	entries, err := upload.ReadDir(root, name, info)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		m.notSeen(name, err)
		return
	}
	for _, entry := range entries {
		below := path.Join(name, entry.Name())
		if private(below) {
			continue
		}
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			m.notSeen(below, err)
		case info.IsDir():
			m.scanDir(root, below, info)
		case info.Mode().IsRegular():
			m.see(below, info)
		default:
			m.warnOnce(below, "not stored, as it is no regular file", "type", info.Mode().Type().String())
		}
	}
}

func (m *Mirror) notSeen(name string, err error) {
	m.mu.Lock()
	m.unseen[name] = err
	m.mu.Unlock()
	m.warnOnce(name, "cannot be looked at", "error", err)
}

func (m *Mirror) warnOnce(name, message string, args ...any) {
	m.mu.Lock()
	known := m.reported[name]
	m.reported[name] = true
	m.mu.Unlock()
	if !known {
		m.opts.Logger.Warn("checkpoint "+message, append([]any{"file", name}, args...)...)
	}
}

// see takes note of a file that is there.
func (m *Mirror) see(name string, info fs.FileInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	if f == nil {
		f = &file{name: name}
		m.files[name] = f
	}
	f.scan = m.scans
	if f.seen == nil || !upload.Same(f.seen, info) {
		f.news(m.scans)
	}
	f.seen = info
	if f.stored != nil && upload.Same(f.stored, info) {
		f.settled()
	}
}

// missGone takes note of files that the scan did not find.
func (m *Mirror) missGone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, f := range m.files {
		switch {
		case f.scan == m.scans || f.seen == nil && f.sent || m.hidden(name):
		case !f.sent:
			delete(m.files, name)
		default:
			f.seen = nil
			f.news(m.scans)
		}
	}
}

// hidden says whether a file, or a directory that it is in, could not be looked at.
func (m *Mirror) hidden(name string) bool {
	for dir := range m.unseen {
		if dir == "." || name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// news is a change that S3 does not have yet.
func (f *file) news(scan int) {
	f.since, f.tries, f.retry, f.err = scan, 0, time.Time{}, nil
}

// settled means that S3 holds what was seen.
func (f *file) settled() {
	f.since, f.tries, f.err = 0, 0, nil
}
