package checkpoint

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"
)

// SaverOptions say when a snapshot is due: at a step that is a multiple of EverySteps, and not sooner
// than Every after the last one began. The zero value is every minute.
type SaverOptions struct {
	Every      time.Duration // 0 means no wait, or a minute where EverySteps is 0, too
	EverySteps int64         // 0 means 1
}

// A Saver saves snapshots in the background, one at a time, so that training waits for no more than the
// copying of its state. Its methods are called from one goroutine.
//
// Where the store's Cluster has several hosts, all offer the same steps, and a snapshot begins on all
// of them or on none: when it is due on all and none is still writing the one before. So the
// hosts have a step in common from the second snapshot on, whenever they are killed. At multiples of
// EverySteps an Offer is then an AllReduce of one number. With Options.LeaderOnly there is no such need:
// the leader alone decides, and an Offer of the others does nothing.
type Saver struct {
	store *Store
	opts  SaverOptions
	last  time.Time // when the last one began
	saved int64     // the step that was saved last, or restored; -1 for none

	writing chan error // gives the result of what is being written, once; nil when nothing is
	cancel  context.CancelCauseFunc
	step    int64 // being written
}

// Saver returns a Saver to the store. The first snapshot is due Every from now. The one that was restored counts as saved.
func (s *Store) Saver(opts SaverOptions) *Saver {
	if opts.Every <= 0 && opts.EverySteps <= 0 {
		opts.Every = time.Minute
	}
	opts.EverySteps = max(1, opts.EverySteps)
	s.turn <- struct{}{}
	defer s.release()
	saved := int64(-1)
	if s.base > 0 {
		saved = s.step
	}
	return &Saver{store: s, opts: opts, last: time.Now(), saved: saved}
}

// Offer has a snapshot of the step saved in the background, if one is due and none is being written. Only then it
// calls take, for what to save. The state that take returns must stay as it is until the
// next call of take: it is a copy, such as a [Buffer] makes.
//
// The error is that of a snapshot offered earlier, which was not saved, or of the hosts' agreement. Who goes on
// after the first may offer the next step; where several hosts need a step in common, one whose saves keep failing falls
// behind what the others keep. The end of ctx does not end the writing.
func (v *Saver) Offer(ctx context.Context, step int64, take func() (Snapshot, io.WriterTo)) error {
	if v.store.opts.LeaderOnly && v.store.rank() != 0 {
		return nil
	}
	failed := v.look()
	due, err := v.due(ctx, step, failed == nil)
	if failed != nil {
		return errors.Join(failed, err)
	}
	if err != nil || !due {
		return err
	}
	snapshot, state := take()
	snapshot.Step = step
	snapshot.Positions, snapshot.Random = slices.Clone(snapshot.Positions), slices.Clone(snapshot.Random)
	snapshot.Meta = maps.Clone(snapshot.Meta)
	ctx, v.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	v.last, v.step, v.writing = time.Now(), step, make(chan error, 1)
	go func(writing chan<- error) { writing <- v.store.Save(ctx, snapshot, state) }(v.writing)
	return nil
}

// due says whether to save now, the same on all hosts: no where one of them is not willing.
func (v *Saver) due(ctx context.Context, step int64, willing bool) (bool, error) {
	if step%v.opts.EverySteps != 0 {
		return false, nil
	}
	due := willing && v.writing == nil && time.Since(v.last) >= v.opts.Every
	if v.store.size() == 1 || v.store.opts.LeaderOnly {
		return due, nil
	}
	against := []float64{1}
	if due {
		against[0] = 0
	}
	err := v.store.opts.Cluster.AllReduce(ctx, against)
	return err == nil && against[0] == 0, err
}

// look takes note of a snapshot that is written.
func (v *Saver) look() error {
	if v.writing == nil {
		return nil
	}
	select {
	case err := <-v.writing:
		return v.done(err)
	default:
		return nil
	}
}

func (v *Saver) done(err error) error {
	v.cancel(nil)
	v.writing = nil
	if err == nil {
		v.saved = v.step
	}
	return err
}

// Close returns when what is being written is saved, and its error. The end of ctx ends the writing, with
// its cause.
func (v *Saver) Close(ctx context.Context) error {
	if err := v.look(); err != nil || v.writing == nil {
		return err
	}
	select {
	case err := <-v.writing:
		return v.done(err)
	case <-ctx.Done():
		v.cancel(context.Cause(ctx))
		return context.Cause(ctx)
	}
}

// Final saves a last snapshot when training stops, after the one that is being written, and returns when it is safe. Where
// ctx, which knows how much time there is, ends before that, Final returns its cause, with the earlier
// snapshots as they were; a sync of the disk may then still go on, and state must not change any more. The snapshot
// of a step that was saved last, or restored, is not saved again: the other hosts may not come to replace theirs. It is each host's own: those of several hosts
// have that step in common only where all stopped there.
func (v *Saver) Final(ctx context.Context, snapshot Snapshot, state io.WriterTo) error {
	if err := v.Close(ctx); err != nil && ctx.Err() != nil {
		return err
	} // else it failed, and this is another try
	if v.saved == snapshot.Step {
		return nil
	}
	saved := make(chan error, 1)
	go func() { saved <- v.store.Save(ctx, snapshot, state) }()
	select {
	case err := <-saved:
		if err == nil {
			v.saved = snapshot.Step
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
