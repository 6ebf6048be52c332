package checkpoints

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/algospec/algospec/platform/internal/upload"
)

// storeChanged starts to store what differs, the oldest first, as far as it is due; all of it is in the end.
// It returns when the last has a worker.
func (m *Mirror) storeChanged(ctx context.Context, end bool) {
	for _, f := range m.changed(end) {
		if !end && m.isEnded() || ctx.Err() != nil {
			return
		}
		m.workers.Go(func() error {
			m.store(ctx, f)
			return nil
		})
	}
}

func (m *Mirror) isEnded() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// changed returns the files that are to be stored.
func (m *Mirror) changed(end bool) []*file {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*file
	now := time.Now()
	for _, f := range m.files {
		if f.seen != nil && f.since != 0 && !f.busy && (end || !now.Before(f.retry) && quiet(f.seen, now)) {
			due = append(due, f)
		}
	}
	slices.SortFunc(due, func(a, b *file) int {
		return cmp.Or(a.seen.ModTime().Compare(b.seen.ModTime()), strings.Compare(a.name, b.name))
	})
	return due
}

// quiet says whether a further write would show in the file's time. The kernel's clock for
// it advances in steps of up to 10 ms.
func quiet(info fs.FileInfo, now time.Time) bool {
	age := now.Sub(info.ModTime())
	return age < 0 || age > 20*time.Millisecond
}

// store stores a file as the last scan saw it.
func (m *Mirror) store(ctx context.Context, f *file) {
	info := m.begin(f)
	if info == nil {
		return
	}
	err := m.upload(ctx, f.name, info)
	m.mu.Lock()
	defer m.mu.Unlock()
	f.busy = false
	switch {
	case err == nil:
		f.stored = info
		if f.seen != nil && upload.Same(f.seen, info) {
			f.settled()
		}
		m.opts.Logger.Debug("checkpoint stored", "file", f.name, "bytes", info.Size())
	case f.seen != nil && upload.Same(f.seen, info):
		m.failed(ctx, f, err)
	}
}

// begin takes a file to store it. It returns nil if that is no longer called for.
func (m *Mirror) begin(f *file) fs.FileInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.seen == nil || f.since == 0 || f.busy {
		return nil
	}
	if err := upload.CheckKey(m.prefix + f.name); err != nil {
		if f.err == nil {
			m.opts.Logger.Warn("checkpoint not stored", "file", f.name, "error", err)
		}
		f.err = err
		return nil
	}
	f.busy, f.sent = true, true
	return f.seen
}

// upload stores a version of a file, and tells the algorithm.
func (m *Mirror) upload(ctx context.Context, name string, info fs.FileInfo) error {
	root, err := upload.OpenDir(m.dir, m.opts.Within)
	if err != nil {
		return err
	}
	defer root.Close()
	m.mark(root, name)
	err = upload.File(ctx, m.client, m.bucket, m.prefix+name, root, name, info)
	now, lost := root.Lstat(name)
	if err != nil || lost != nil || !upload.Same(now, info) {
		unmark(root, name)
		return err
	}
	m.marked(root, name)
	return nil
}

// failed takes note of what kept a file from being stored, or deleted, and when to try again. The
// caller holds the lock.
func (m *Mirror) failed(ctx context.Context, f *file, err error) {
	if ctx.Err() != nil {
		return
	}
	f.err = err
	f.retry = time.Now().Add(min(min(m.opts.Interval, longestPause)<<f.tries, longestPause))
	f.tries = min(f.tries+1, 16)
	if !errors.Is(err, upload.ErrChanged) { // which the next scan sees
		m.opts.Logger.Warn("checkpoint not stored or deleted", "file", f.name, "error", err)
	}
}

// longestPause lies between two tries to store a file, at most.
const longestPause = time.Minute
