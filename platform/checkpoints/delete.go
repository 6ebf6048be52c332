package checkpoints

import (
	"context"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/platform/internal/upload"
)

// deleteGone starts to delete the objects whose files are gone, as far as nothing is still to be stored
// that was there when they went.
func (m *Mirror) deleteGone(ctx context.Context, end bool) {
	for _, f := range m.gone(end) {
		if !end && m.isEnded() || ctx.Err() != nil {
			return
		}
		m.workers.Go(func() error {
			m.delete(ctx, f)
			return nil
		})
	}
}

func (m *Mirror) gone(end bool) (due []*file) {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest, now := math.MaxInt, time.Now()
	for _, f := range m.files {
		if f.seen != nil && f.since != 0 && upload.CheckKey(m.prefix+f.name) == nil {
			oldest = min(oldest, f.since)
		}
	}
	for _, f := range m.files {
		if f.seen == nil && !f.busy && f.since < oldest && (end || !now.Before(f.retry)) {
			due = append(due, f)
		}
	}
	return due
}

// delete deletes the object of a file, unless the file is there again.
func (m *Mirror) delete(ctx context.Context, f *file) {
	m.mu.Lock()
	due := f.seen == nil && !f.busy && m.files[f.name] == f
	f.busy = f.busy || due
	m.mu.Unlock()
	if !due {
		return
	}
	deleted, err := m.deleteObject(ctx, f.name)
	m.mu.Lock()
	defer m.mu.Unlock()
	f.busy = false
	if err != nil || deleted {
		f.stored = nil // perhaps
	}
	switch {
	case f.seen != nil: // a scan found it meanwhile
		f.news(m.scans)
	case err != nil:
		m.failed(ctx, f, err)
	case deleted:
		delete(m.files, f.name)
		m.opts.Logger.Debug("checkpoint deleted", "file", f.name)
	}
}

// deleteObject returns false where the file is there, as the next scan will see.
func (m *Mirror) deleteObject(ctx context.Context, name string) (bool, error) {
	root, err := upload.OpenDir(m.dir, m.opts.Within)
	if err != nil {
		return false, err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		return false, nil
	}
	_, err = m.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(m.bucket), Key: aws.String(m.prefix + name)})
	if err != nil {
		return false, err
	}
	unmark(root, name)
	return true, nil
}
