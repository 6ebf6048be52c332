package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
)

// Restore has state read what the newest snapshot holds, and returns the rest of it. A damaged one is
// passed over, with a warning to the logger, for the next older; state sees none of it. There is an error where
//
//   - there is no snapshot: ErrNone, and the run begins at its beginning;
//   - there are some and none is whole: a *DamagedError;
//   - there are some, of other hyperparameters or another number of hosts: an *Error that
//     wraps a *HyperParametersError or a *WorldError.
//
// Where Options.Cluster has several hosts, all call Restore, and all restore the same step: that of
// LastCommon.
func (s *Store) Restore(ctx context.Context, state io.ReaderFrom) (Snapshot, error) {
	if s.size() > 1 {
		step, err := s.LastCommon(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		return s.RestoreStep(ctx, step, state)
	}
	f, err := s.newest(ctx, func(*file) bool { return true })
	if err != nil {
		return Snapshot{}, err
	}
	return s.load(ctx, f, state)
}

// Latest returns the snapshot of this host that Restore would restore were it alone, without its state.
func (s *Store) Latest(ctx context.Context) (Snapshot, error) {
	f, err := s.newest(ctx, func(*file) bool { return true })
	if err != nil {
		return Snapshot{}, err
	}
	return f.snapshot, nil
}

// RestoreStep is Restore of this host's newest snapshot of a step; of the step that LastCommon found, it
// is the one that belongs to the other hosts', unless this run has saved the step since.
func (s *Store) RestoreStep(ctx context.Context, step int64, state io.ReaderFrom) (Snapshot, error) {
	if err := s.take(ctx); err != nil {
		return Snapshot{}, err
	}
	common, run := s.common, s.run
	s.release()
	f, err := s.newest(ctx, func(f *file) bool {
		another := common != nil && common.Step == step && f.snapshot.Run != common.Run && f.snapshot.Run != run
		return f.Step == step && (!another || f.err != nil)
	})
	if err != nil {
		return Snapshot{}, err
	}
	return s.load(ctx, f, state)
}

// newest returns the newest of the wanted snapshots that is whole and not refused.
func (s *Store) newest(ctx context.Context, wanted func(*file) bool) (*file, error) {
	files, err := s.usable(ctx, wanted, 1)
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// usable returns the wanted snapshots that are whole and not refused, the newest first, no more than most.
// There is at least one, or an error.
func (s *Store) usable(ctx context.Context, wanted func(*file) bool, most int) (whole []*file, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	files, _, err := s.files(ctx)
	if err != nil {
		return nil, err
	}
	var refused error
	var damaged []error
	for _, f := range files {
		if !wanted(f) {
			continue
		}
		if err := s.refuse(f); err != nil {
			refused = cmp.Or(refused, err)
			s.opts.Logger.Warn("checkpoint passed over", "step", f.Step, "file", f.path, "error", err)
			continue
		}
		switch err := s.verify(ctx, f); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			damaged = append(damaged, f.at(err))
			s.opts.Logger.Warn("checkpoint passed over", "step", f.Step, "file", f.path, "error", err)
		default:
			whole = append(whole, f)
		}
		if len(whole) == most {
			break
		}
	}
	switch {
	case len(whole) > 0:
		return whole, nil
	case refused != nil:
		return nil, refused
	case len(damaged) > 0:
		return nil, &DamagedError{damaged}
	}
	return nil, ErrNone
}

// refuse returns why a snapshot is not for this job, if it tells.
func (s *Store) refuse(f *file) error {
	then, now := &f.snapshot, s.opts.HyperParameters
	switch {
	case f.err != nil:
		return nil
	case !then.LeaderOnly && then.Size != s.size():
		return f.at(&WorldError{then.Size, s.size()})
	case s.opts.AnyHyperParameters:
		return nil
	}
	before, after := without(then.HyperParameters, s.opts.MayDiffer), without(now, s.opts.MayDiffer)
	if !maps.Equal(before, after) {
		return f.at(&HyperParametersError{before, after})
	}
	return nil
}

// verify reads a whole snapshot.
func (s *Store) verify(ctx context.Context, f *file) error {
	if f.err != nil {
		return f.err
	}
	src, reader, err := s.open(f)
	if err != nil {
		return err
	}
	defer src.Close()
	_, err = io.Copy(io.Discard, &contextReader{ctx, reader})
	return err
}

// load has state read a snapshot that has been verified, which proves itself once more meanwhile.
func (s *Store) load(ctx context.Context, f *file, state io.ReaderFrom) (Snapshot, error) {
	src, reader, err := s.open(f)
	if err != nil {
		return Snapshot{}, f.at(err)
	}
	defer src.Close()
	if _, err := state.ReadFrom(&contextReader{ctx, reader}); err != nil {
		if ctx.Err() != nil {
			return Snapshot{}, context.Cause(ctx)
		}
		return Snapshot{}, f.at(fmt.Errorf("state: %w", err))
	}
	if _, err := io.Copy(io.Discard, reader); err != nil { // what it did not want
		return Snapshot{}, f.at(err)
	}
	if err := s.take(ctx); err != nil {
		return Snapshot{}, err
	}
	defer s.release()
	s.base, s.step = f.snapshot.Serial, f.Step
	return f.snapshot, nil
}

// A contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
