package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/internal/atomicfile"
)

// A slowDisk takes its time to sync a file.
type slowDisk struct {
	disk
	delay time.Duration
}

func (d slowDisk) Create(path string) (atomicfile.File, error) {
	file, err := d.disk.Create(path)
	return slowFile{file, d.delay}, err
}

type slowFile struct {
	atomicfile.File
	delay time.Duration
}

func (f slowFile) Sync() error {
	time.Sleep(f.delay)
	return f.File.Sync()
}

// onSlowDisk returns a store that takes so long to save.
func onSlowDisk(delay time.Duration, opts Options) *Store {
	s := NewStore("dir", opts)
	s.disk = slowDisk{newCrashDisk(), delay}
	return s
}

// offer offers a step, and returns whether it was taken.
func offer(t *testing.T, v *Saver, step int64) bool {
	t.Helper()
	taken := false
	require.NoError(t, v.Offer(t.Context(), step, func() (Snapshot, io.WriterTo) {
		taken = true
		return Snapshot{}, stateOf(step)
	}))
	return taken
}

func TestASnapshotIsDueWhenItsTimeHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSlowDisk(0, Options{})
		v := s.Saver(SaverOptions{Every: 10 * time.Second})
		var taken []int64
		for step := range int64(60) { // a second each
			if offer(t, v, step) {
				taken = append(taken, step)
			}
			time.Sleep(time.Second)
		}
		require.Equal(t, []int64{10, 20, 30, 40, 50}, taken)
		require.NoError(t, v.Close(t.Context()))
		require.Equal(t, int64(50), restored(t, s))
	})
}

func TestASnapshotIsDueAtItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, opts := range map[int64]SaverOptions{
			8: {EverySteps: 4}, 9: {Every: 3 * time.Second}, 6: {Every: 5 * time.Second, EverySteps: 3}, -1: {},
		} {
			s := onSlowDisk(0, Options{})
			v := s.Saver(opts)
			for step := range int64(10) {
				offer(t, v, step)
				time.Sleep(time.Second)
			}
			require.NoError(t, v.Close(t.Context()))
			require.Equal(t, want, restored(t, s))
		}
	})
}

func TestTrainingNeverWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSlowDisk(24500*time.Millisecond, Options{Keep: 100})
		v := s.Saver(SaverOptions{Every: 10 * time.Second})
		began := time.Now()
		for step := range int64(100) {
			offer(t, v, step)
			time.Sleep(time.Second)
		}
		require.Equal(t, 100*time.Second, time.Since(began))
		require.NoError(t, v.Close(t.Context()))
		require.Equal(t, []int64{10, 35, 60, 85}, steps(t, s), "one is skipped while another is being written")
	})
}

func TestWhatWasOfferedMayChangeAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSlowDisk(time.Second, Options{})
		v := s.Saver(SaverOptions{EverySteps: 1})
		snapshot := Snapshot{
			Positions: []Position{{Channel: "train", Records: 5}}, Random: []byte{1}, Meta: map[string]string{"loss": "1"},
		}
		weights := []byte("weights")
		var buffer Buffer
		require.NoError(t, v.Offer(t.Context(), 1, func() (Snapshot, io.WriterTo) { return snapshot, buffer.Copy(bytes.NewReader(weights)) }))
		snapshot.Positions[0].Records, snapshot.Random[0], snapshot.Meta["loss"] = 6, 2, "2"
		copy(weights, "changed")
		require.NoError(t, v.Close(t.Context()))
		var state bytes.Buffer
		got, err := s.Restore(t.Context(), &state)
		require.NoError(t, err)
		require.Equal(t, "weights", state.String())
		require.Equal(t, []any{int64(5), byte(1), "1"}, []any{got.Positions[0].Records, got.Random[0], got.Meta["loss"]})
	})
}

func TestABufferIsUsedAgain(t *testing.T) {
	var b Buffer
	for _, want := range []string{"a long state", "short", "", "a longer state still"} {
		state := b.Copy(text(want))
		for range 2 {
			var got bytes.Buffer
			n, err := state.WriteTo(&got)
			require.NoError(t, err)
			require.Equal(t, int64(len(want)), n)
			require.Equal(t, want, got.String())
		}
	}
	bad := errors.New("bad")
	_, err := b.Copy(writerFunc(func(io.Writer) error { return bad })).WriteTo(io.Discard)
	require.ErrorIs(t, err, bad)
	big := bytes.NewReader(make([]byte, 1<<20))
	require.Zero(t, testing.AllocsPerRun(10, func() {
		big.Seek(0, io.SeekStart)
		b.Copy(big)
	}))
}

func TestAnErrorOfTheBackgroundComesWithTheNextOfferOrTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSlowDisk(0, Options{})
		bad := errors.New("bad")
		broken := func() (Snapshot, io.WriterTo) { return Snapshot{}, writerFunc(func(io.Writer) error { return bad }) }
		v := s.Saver(SaverOptions{EverySteps: 1})
		require.NoError(t, v.Offer(t.Context(), 1, broken))
		synctest.Wait()
		require.EqualError(t, v.Offer(t.Context(), 2, broken), "checkpoint: step 1: bad")
		require.NoError(t, v.Offer(t.Context(), 3, broken))
		require.EqualError(t, v.Close(t.Context()), "checkpoint: step 3: bad")
		require.NoError(t, v.Close(t.Context()), "once")
	})
}

func TestWhatIsSavedIsReportedThoughTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for step := range int64(20) {
			v := onSlowDisk(0, Options{}).Saver(SaverOptions{EverySteps: 1})
			require.True(t, offer(t, v, step))
			synctest.Wait()
			require.NoError(t, v.Close(ctx))
		}
	})
}

func TestAStopDoesNotEndTheWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSlowDisk(time.Second, Options{})
		v := s.Saver(SaverOptions{EverySteps: 1})
		ctx, stop := context.WithCancel(t.Context())
		require.NoError(t, v.Offer(ctx, 1, func() (Snapshot, io.WriterTo) { return Snapshot{}, stateOf(1) }))
		stop()
		require.NoError(t, v.Close(t.Context()))
		require.Equal(t, int64(1), restored(t, s))
	})
}

func TestTheLastSnapshotIsSavedInTheTimeThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSlowDisk(10*time.Second, Options{})
		v := s.Saver(SaverOptions{EverySteps: 1})
		require.True(t, offer(t, v, 1))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		require.NoError(t, v.Final(ctx, Snapshot{Step: 2}, stateOf(2)))
		require.Equal(t, int64(2), restored(t, s))
		before := time.Now()
		require.NoError(t, v.Final(ctx, Snapshot{Step: 2}, stateOf(2)))
		require.Zero(t, time.Since(before), "it is saved already")
		require.NoError(t, v.Close(ctx))
	})
}

func TestWhenTimeIsUpTheEarlierSnapshotsStay(t *testing.T) {
	late := errors.New("the grace period is over")
	for _, left := range []time.Duration{5 * time.Second, 15 * time.Second} { // while writing the one before, or the last
		synctest.Test(t, func(t *testing.T) {
			s := onSlowDisk(10*time.Second, Options{})
			save(t, s, 1)
			v := s.Saver(SaverOptions{EverySteps: 1})
			require.True(t, offer(t, v, 2))
			ctx, cancel := context.WithTimeoutCause(t.Context(), left, late)
			defer cancel()
			before := time.Now()
			require.ErrorIs(t, v.Final(ctx, Snapshot{Step: 3}, stateOf(3)), late)
			require.Equal(t, left, time.Since(before))
			require.NoError(t, s.Close()) // when what is under way has ended
			require.Contains(t, []int64{1, 2, 3}, restored(t, s))
		})
	}
}

// After a failure in the background the last one is another try.
func TestTheLastSnapshotDoesNotNeedTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSlowDisk(0, Options{})
		v := s.Saver(SaverOptions{EverySteps: 1})
		require.NoError(t, v.Offer(t.Context(), 1, func() (Snapshot, io.WriterTo) {
			return Snapshot{}, writerFunc(func(io.Writer) error { return fs.ErrInvalid })
		}))
		require.NoError(t, v.Final(t.Context(), Snapshot{Step: 1}, stateOf(1)))
		require.Equal(t, int64(1), restored(t, s))
	})
}

// Each host's last snapshot is its own, and one may be killed while it writes the one that others have.
func TestTheLastSnapshotsLeaveAStepInCommon(t *testing.T) {
	f := newFleet(t, 2, Options{Keep: 1}, shared(t))
	f.requireNone()
	save(t, f.stores[0], 1, 2)
	save(t, f.stores[1], 1) // and is killed
	require.NoError(t, f.stores[0].Saver(SaverOptions{}).Final(t.Context(), Snapshot{Step: 3}, stateOf(3)))
	f.requireStep(1)
}

// Jobs that are interrupted again and again before they get anywhere lose nothing by saying so.
func TestWhatWasRestoredIsNotSavedAgain(t *testing.T) {
	dir := shared(t)
	f := newFleet(t, 2, Options{}, dir)
	f.requireNone()
	save(t, f.stores[0], 1, 2)
	save(t, f.stores[1], 1, 2)
	for range 3 {
		f.close()
		f = newFleet(t, 2, Options{}, dir)
		f.requireStep(2)
		require.NoError(t, f.stores[0].Saver(SaverOptions{}).Final(t.Context(), Snapshot{Step: 2}, stateOf(2)))
		// and the other is killed before it saves
	}
}

// However unlike the hosts' disks are, they save the same steps, and never wait.
func TestHostsSaveTheSameSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hosts sync.WaitGroup
		stores := make([]*Store, 3)
		for rank, c := range cluster.Loopback(3) {
			stores[rank] = onSlowDisk(time.Duration(rank)*6500*time.Millisecond, Options{Keep: 100, Cluster: &c})
			hosts.Go(func() {
				v := stores[rank].Saver(SaverOptions{Every: 5 * time.Second, EverySteps: 2})
				for step := range int64(100) {
					offer(t, v, step)
					time.Sleep(time.Second)
				}
				require.NoError(t, v.Close(t.Context()))
			})
		}
		hosts.Wait()
		want := steps(t, stores[0])
		require.Equal(t, []int64{6, 20, 34, 48, 62, 76, 90}, want)
		for _, s := range stores {
			require.True(t, slices.Equal(want, steps(t, s)))
		}
	})
}

// A host that goes on after a failed save takes part in the agreement nevertheless: the others are in it.
func TestAHostWhoseSaveFailedStaysInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hosts sync.WaitGroup
		stores := make([]*Store, 2)
		for rank, c := range cluster.Loopback(2) {
			stores[rank] = onSlowDisk(0, Options{Keep: 100, Cluster: &c})
			hosts.Go(func() {
				v := stores[rank].Saver(SaverOptions{EverySteps: 1})
				var failed []int64
				for step := range int64(6) {
					err := v.Offer(t.Context(), step, func() (Snapshot, io.WriterTo) {
						if rank == 1 && step == 2 {
							return Snapshot{}, writerFunc(func(io.Writer) error { return errors.New("bad") })
						}
						return Snapshot{}, stateOf(step)
					})
					if err != nil {
						failed = append(failed, step)
						require.EqualError(t, err, "checkpoint: step 2: bad")
					}
					time.Sleep(time.Second)
				}
				require.Equal(t, rank, len(failed))
				require.NoError(t, v.Close(t.Context()))
				require.NoError(t, c.Barrier(t.Context()), "no host is a collective behind")
			})
		}
		hosts.Wait()
		require.Equal(t, []int64{0, 1, 2, 4, 5}, steps(t, stores[0]))
		require.Equal(t, []int64{0, 1, 4, 5}, steps(t, stores[1]))
	})
}

func TestOnlyTheLeaderIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int64
		for rank, want := range []int64{1, 1} {
			s := onSlowDisk(0, Options{LeaderOnly: true, Cluster: fixed{rank: rank, size: 2}}) // whose AllReduce would panic
			v := s.Saver(SaverOptions{EverySteps: 1})
			require.NoError(t, v.Offer(t.Context(), 1, func() (Snapshot, io.WriterTo) {
				taken.Add(1)
				return Snapshot{}, text("")
			}))
			require.NoError(t, v.Close(t.Context()))
			require.Equal(t, want, taken.Load())
		}
	})
}
