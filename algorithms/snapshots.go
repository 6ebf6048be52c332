package algorithms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/checkpoint"
)

// A State is what an algorithm has learned so far. ReadFrom leaves it as it is after an error.
type State interface {
	io.WriterTo
	io.ReaderFrom
}

// SnapshotOptions say how a State is kept. The zero value is of one that all hosts together have.
type SnapshotOptions struct {
	checkpoint.Options

	// Alone is for states that have nothing to do with each other until the hosts put them together, such
	// as sums, each over the host's own data: each host saves and goes on by itself.
	Alone bool
	// Every is the least time between snapshots; 0 means that of the variable ALGOSPEC_CHECKPOINT_EVERY,
	// such as 10s, or else a minute.
	Every time.Duration
}

// Snapshots keep a State that learns from batches, so that a job which starts again goes on where the
// snapshot was taken:
//
//	snapshots, err := algorithms.Resume(ctx, job, state, algorithms.SnapshotOptions{})
//	…
//	for batch, err := range algorithms.BatchesFrom(ctx, train, p, snapshots.Position(train.Name)) {
//		…
//		state.Observe(batch)
//		if err := snapshots.Offer(ctx, batch.End()); err != nil {
//			return err
//		}
//	}
//
// Where the platform keeps no checkpoints, and as the zero value, they do nothing. A snapshot that cannot
// be saved, as on a full disk, is a warning, and the next one is tried when it is due: training does not
// end for it. But a directory that another process saves to is an error.
type Snapshots struct {
	job       *algospec.Job
	store     *checkpoint.Store
	saver     *checkpoint.Saver
	state     State
	buffer    checkpoint.Buffer
	meta      map[string]string
	step      int64 // batches learned from
	positions []checkpoint.Position
}

// Resume restores the state from the newest snapshot of the job, if there is one.
func Resume(ctx context.Context, job *algospec.Job, state State, o SnapshotOptions) (*Snapshots, error) {
	s := &Snapshots{job: job, state: state}
	every, err := o.every(job)
	if err != nil {
		return nil, err
	}
	if o.Alone {
		s.store = job.HostCheckpoints(o.Options)
		s.meta = map[string]string{"hosts": strconv.Itoa(job.Cluster.Size()), "rank": strconv.Itoa(job.Cluster.Rank())}
	} else {
		s.store = job.Checkpoints(o.Options)
	}
	if s.store == nil {
		return s, nil
	}
	from, err := s.store.Restore(ctx, state)
	switch {
	case errors.Is(err, checkpoint.ErrNone):
	case err != nil:
		return nil, err
	default:
		if err := s.check(from); err != nil {
			return nil, err
		}
		s.step, s.positions = from.Step, from.Positions
	}
	s.saver = s.store.Saver(checkpoint.SaverOptions{Every: every})
	return s, nil
}

func (o SnapshotOptions) every(job *algospec.Job) (time.Duration, error) {
	const name = "ALGOSPEC_CHECKPOINT_EVERY"
	text := job.Getenv(name)
	if o.Every > 0 || text == "" {
		return o.Every, nil
	}
	every, err := time.ParseDuration(text)
	if err != nil || every <= 0 {
		return 0, fmt.Errorf("%s: %q is no duration such as 10s", name, text)
	}
	return every, nil
}

// check refuses what a host alone has saved that had another part of the data.
func (s *Snapshots) check(from checkpoint.Snapshot) error {
	for _, key := range []string{"hosts", "rank"} {
		if s.meta != nil && from.Meta[key] != s.meta[key] {
			return algospec.ClientErrorf("checkpoint: step %d: saved by the host of rank %s of %s, which is now rank %s of %s",
				from.Step, from.Meta["rank"], from.Meta["hosts"], s.meta["rank"], s.meta["hosts"])
		}
	}
	return nil
}

// Step returns how many batches the state has learned from.
func (s *Snapshots) Step() int64 { return s.step }

// Position returns where in the channel the state goes on.
func (s *Snapshots) Position(channel string) checkpoint.Position {
	return s.snapshot().Position(channel)
}

func (s *Snapshots) snapshot() *checkpoint.Snapshot {
	return &checkpoint.Snapshot{Step: s.step, Positions: s.positions, Meta: s.meta}
}

// Offer tells that the state has learned from a batch, up to end, and has a snapshot saved in the
// background if one is due.
func (s *Snapshots) Offer(ctx context.Context, end checkpoint.Position) error {
	s.step++
	s.move(end)
	if s.saver == nil {
		return nil
	}
	return s.tolerate(ctx, s.saver.Offer(ctx, s.step, func() (checkpoint.Snapshot, io.WriterTo) {
		return *s.snapshot(), s.buffer.Copy(s.state)
	}))
}

// move replaces the position of end's channel.
func (s *Snapshots) move(end checkpoint.Position) {
	for i := range s.positions {
		if s.positions[i].Channel == end.Channel {
			s.positions[i] = end
			return
		}
	}
	s.positions = append(s.positions, end)
}

// Final saves a last snapshot, of a job that is being stopped: ctx is a SaveContext of the job.
func (s *Snapshots) Final(ctx context.Context) error {
	if s.saver == nil || s.step == 0 {
		return nil
	}
	return s.tolerate(ctx, s.saver.Final(ctx, *s.snapshot(), s.state))
}

// Close waits for the snapshot that is being written, and closes the store.
func (s *Snapshots) Close(ctx context.Context) error {
	if s.saver == nil {
		return nil
	}
	return cmp.Or(s.tolerate(ctx, s.saver.Close(ctx)), s.store.Close())
}

// tolerate makes a warning of a snapshot that could not be saved.
func (s *Snapshots) tolerate(ctx context.Context, err error) error {
	switch failed := (*checkpoint.Error)(nil); {
	case err == nil || ctx.Err() != nil || errors.Is(err, checkpoint.ErrLocked):
		return err
	case !errors.As(err, &failed):
		return err
	}
	s.job.Println("warning: " + err.Error() + "; training goes on without this snapshot")
	return nil
}
