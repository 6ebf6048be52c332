package checkpoint

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// onCrashDisk returns a store that has saved so many steps, and starts anew.
func onCrashDisk(t *testing.T, keep, steps int) (*Store, *crashDisk) {
	disk := newCrashDisk()
	s := NewStore("dir", Options{Keep: keep})
	s.disk = disk
	for step := range int64(steps) {
		save(t, s, step+1)
	}
	return reopen(t, s), disk
}

func TestACallThatFailsLeavesThePreviousSnapshot(t *testing.T) {
	for _, keep := range []int{1, 3} {
		for call := 1; ; call++ {
			s, disk := onCrashDisk(t, keep, 4)
			disk.failAt(call)
			err := s.Save(t.Context(), Snapshot{Step: 5}, stateOf(5))
			through := disk.calls < call
			disk.fail = nil
			again := reopen(t, s)
			if err == nil {
				require.Equal(t, int64(5), restored(t, again), "call %d", call)
			} else {
				require.ErrorIs(t, err, syscall.EIO)
				require.Contains(t, []int64{4, 5}, restored(t, again), "call %d", call)
			}
			save(t, again, 6)
			require.Equal(t, int64(6), restored(t, again))
			if through {
				require.NoError(t, err)
				t.Logf("keep %d: %d calls", keep, call-1)
				require.Greater(t, call, 10)
				break
			}
		}
	}
}

// The same store saves on after a failure, as a Saver does.
func TestAStoreGoesOnAfterAFailure(t *testing.T) {
	for call := 1; ; call++ {
		s, disk := onCrashDisk(t, 2, 3)
		disk.failAt(call)
		s.Save(t.Context(), Snapshot{Step: 4}, stateOf(4))
		if disk.calls < call {
			break
		}
		disk.fail = nil
		save(t, s, 5)
		require.Equal(t, int64(5), restored(t, s))
		for name := range disk.names {
			require.False(t, unfinished(name, "algo-1"), "call %d: %s", call, name)
		}
	}
}

// A Save whose last step failed has left a file, which does not count as newer than those after it.
func TestASaveThatFailedIsOlderThanTheNext(t *testing.T) {
	s, disk := onCrashDisk(t, 3, 1)
	save(t, s, 10)
	disk.fail = func(int) error {
		if _, there := disk.names[s.name(20).String()]; there {
			return syscall.EIO
		}
		return nil
	}
	require.ErrorIs(t, s.Save(t.Context(), Snapshot{Step: 20}, stateOf(20)), syscall.EIO)
	disk.fail = nil
	require.Equal(t, int64(20), restored(t, s))
	save(t, s, 5)
	require.Equal(t, int64(5), restored(t, s), "the one saved last")
	require.NoError(t, s.Close())
}

func TestACrashAtAnyCallLosesNothingThatWasReportedSaved(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, keep := range []int{1, 3} {
		for call, through := 1, false; !through; call++ {
			for round := range uint64(50) {
				s, disk := onCrashDisk(t, keep, 4)
				disk.crashAt(call)
				err := s.Save(t.Context(), Snapshot{Step: 5}, stateOf(5))
				through = !disk.dead
				disk.restart(rand.New(rand.NewPCG(seed, round)))
				again := reopen(t, s)
				step := restored(t, again)
				if err == nil {
					require.Equal(t, int64(5), step, "call %d, round %d", call, round)
				}
				require.Contains(t, []int64{4, 5}, step, "call %d, round %d", call, round)
				save(t, again, 6)
				require.Equal(t, int64(6), restored(t, again))
			}
		}
	}
}

// A whole life: crashes at random calls, over and over.
func TestCrashesOverAndOverLoseNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, disk := onCrashDisk(t, 2, 0)
	reported := int64(-1)
	for range 2000 {
		step := restored(t, s)
		require.GreaterOrEqual(t, step, reported)
		disk.crashAt(1 + random.IntN(60))
		for !disk.dead {
			step++
			if s.Save(t.Context(), Snapshot{Step: step}, stateOf(step)) == nil {
				reported = step
			}
		}
		disk.restart(random)
		s = reopen(t, s)
	}
	require.Greater(t, reported, int64(1000))
}
