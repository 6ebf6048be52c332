package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/algospec/algospec/internal/atomicfile"
)

// Save saves a snapshot and what state writes, and returns when both are safe on the disk: whatever
// happens then, they can be restored. After an error, or when the process is killed meanwhile, the snapshots
// before are as they were. One of the same host, step and hyperparameters is replaced.
//
// Then all but the newest Options.Keep of this host with the same hyperparameters are deleted. One that
// the service is uploading stays until a later Save, and where the service tells what it has uploaded, the newest
// of those stays, too.
//
// The end of ctx ends the writing, with its cause; it does not interrupt a sync of the disk. The first
// Save takes a lock that lasts until Close, so that of two processes that save as one host in one directory
// the second has an ErrLocked. With Options.LeaderOnly, hosts other than the leader save nothing.
func (s *Store) Save(ctx context.Context, snapshot Snapshot, state io.WriterTo) error {
	if err := s.check(); err != nil {
		return err
	}
	if snapshot.Step < 0 || snapshot.Step > maxStep {
		return fmt.Errorf("checkpoint: step %d: not between 0 and %d", snapshot.Step, int64(maxStep))
	}
	if s.opts.LeaderOnly && s.rank() != 0 {
		return nil
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.release()
	if err := s.begin(ctx); err != nil {
		return err
	}
	name := s.name(snapshot.Step)
	snapshot.Time = time.Now().UTC()
	snapshot.Host, snapshot.Rank, snapshot.Size = s.opts.Host, s.rank(), s.size()
	snapshot.LeaderOnly, snapshot.HyperParameters = s.opts.LeaderOnly, s.opts.HyperParameters
	s.serial++ // also where saving fails in its last step, after which there is a file
	snapshot.Serial, snapshot.Run = s.serial, s.run
	path := s.path(name.String())
	if err := atomicfile.Replace(s.disk, path, &content{ctx, &snapshot, state}); err != nil {
		return &Error{Step: snapshot.Step, Path: path, Err: err}
	}
	if err := s.prune(ctx, name); err != nil {
		s.opts.Logger.Warn("checkpoint: older snapshots stay", "error", err)
	}
	return nil
}

// begin readies the directory for the first Save.
func (s *Store) begin(ctx context.Context) error {
	switch {
	case s.closed:
		return ErrClosed
	case s.lock != nil:
		return nil
	}
	if err := s.disk.MkdirAll(s.dir); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	lock, err := s.disk.Lock(s.path("." + s.host() + ".lock" + atomicfile.Suffix))
	if err != nil {
		return fmt.Errorf("checkpoint: %s: %s: %w", s.dir, s.host(), err)
	}
	files, _, err := s.files(ctx)
	// A snapshot that cannot be read may be the newest, which the next must come after.
	if err = errors.Join(err, readable(files), s.sweep()); err != nil {
		return errors.Join(err, lock.Close())
	}
	for _, f := range files {
		s.serial = max(s.serial, f.snapshot.Serial)
	}
	s.lock, s.found = lock, s.serial
	return nil
}

// sweep deletes what this host was writing when it was killed.
func (s *Store) sweep() error {
	entries, err := s.disk.ReadDir(s.dir)
	for _, entry := range entries {
		if unfinished(entry.Name(), s.host()) {
			err = errors.Join(err, s.disk.Remove(filepath.Join(s.dir, entry.Name())))
		}
	}
	return err
}
