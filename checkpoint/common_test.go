package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
)

// A fleet is hosts with a directory each, or one for all.
type fleet struct {
	t      *testing.T
	stores []*Store
}

func newFleet(t *testing.T, n int, opts Options, dir func(rank int) string) *fleet {
	f := &fleet{t: t}
	for rank, c := range cluster.Loopback(n) {
		opts.Host, opts.Cluster = fmt.Sprint("algo-", rank+1), &c
		f.stores = append(f.stores, NewStore(dir(rank), opts))
	}
	t.Cleanup(f.close)
	return f
}

func (f *fleet) close() {
	for _, s := range f.stores {
		require.NoError(f.t, s.Close())
	}
}

// shared is one directory for all hosts, as the service makes it of one prefix at each start.
func shared(t *testing.T) func(int) string {
	dir := t.TempDir()
	return func(int) string { return dir }
}

// all calls do for all hosts at once and returns their errors.
func (f *fleet) all(do func(rank int, s *Store) error) []error {
	var hosts sync.WaitGroup
	errs := make([]error, len(f.stores))
	for rank, s := range f.stores {
		hosts.Go(func() { errs[rank] = do(rank, s) })
	}
	hosts.Wait()
	return errs
}

// restore restores on all hosts, and returns the step, the same on all, and their errors.
func (f *fleet) restore() (int64, []error) {
	f.t.Helper()
	found := make([]int64, len(f.stores))
	errs := f.all(func(rank int, s *Store) error {
		var state bytes.Buffer
		snapshot, err := s.Restore(f.t.Context(), &state)
		if err == nil && state.String() != string(stateOf(snapshot.Step)) {
			err = errors.New("another step's state")
		}
		found[rank] = snapshot.Step
		return err
	})
	for _, step := range found {
		require.Equal(f.t, found[0], step)
	}
	return found[0], errs
}

func (f *fleet) requireStep(want int64) {
	f.t.Helper()
	step, errs := f.restore()
	require.NoError(f.t, errors.Join(errs...))
	require.Equal(f.t, want, step)
}

func (f *fleet) requireNone() {
	f.t.Helper()
	_, errs := f.restore()
	for _, err := range errs {
		require.ErrorIs(f.t, err, ErrNone)
	}
}

func TestNoStepIsCommonWhileOneHostHasNone(t *testing.T) {
	f := newFleet(t, 3, Options{Keep: 10}, shared(t))
	var log bytes.Buffer
	f.stores[1].opts.Logger = logTo(&log)
	f.requireNone()
	require.Empty(t, log.String())
	save(t, f.stores[0], 1, 2, 3, 4)
	save(t, f.stores[1], 1, 2, 3)
	f.requireNone()
	require.Contains(t, log.String(), `level=WARN msg="checkpoints passed over: no step is common to all hosts" newest=3`)
}

func TestHostsRestoreTheNewestStepThatAllHave(t *testing.T) {
	dir := shared(t)
	f := newFleet(t, 3, Options{Keep: 10}, dir)
	f.requireNone() // which names the run
	save(t, f.stores[0], 1, 2, 3, 4)
	save(t, f.stores[1], 1, 2, 3)
	save(t, f.stores[2], 1, 3, 5)
	f.requireStep(3)
	f.close()

	f = newFleet(t, 3, Options{Keep: 10}, dir)
	damage(t, f.stores[2], 3)
	f.requireStep(1)
	require.NoError(t, os.Remove(pathOf(f.stores[0], 1)))
	f.requireNone()
}

// A host that was ahead has a step of the run that was interrupted, which the next run reaches again.
func TestStepsOfDifferentRunsDoNotBelongTogether(t *testing.T) {
	dir := shared(t)
	f := newFleet(t, 2, Options{}, dir)
	f.requireNone()
	save(t, f.stores[0], 100, 200)
	save(t, f.stores[1], 100)
	f.close() // killed

	f = newFleet(t, 2, Options{}, dir)
	f.requireStep(100)
	save(t, f.stores[1], 200) // the first host's is from before
	f.close()

	f = newFleet(t, 2, Options{}, dir)
	f.requireStep(100)
	save(t, f.stores[0], 200)
	save(t, f.stores[1], 200)
	f.requireStep(200)
}

// One host reached a step again with other hyperparameters, whose file lies beside the first.
func TestOfOneStepTheRunThatAllHaveIsRestored(t *testing.T) {
	dir := shared(t)
	f := newFleet(t, 2, Options{HyperParameters: map[string]string{"k": "1"}}, dir)
	f.requireNone()
	for _, s := range f.stores {
		save(t, s, 100)
	}
	run := f.stores[0].run
	f.close()

	f = newFleet(t, 2, Options{HyperParameters: map[string]string{"k": "2"}}, dir) // is refused, and begins anew
	save(t, f.stores[0], 100)
	f.close() // killed before the other saved

	f = newFleet(t, 2, Options{AnyHyperParameters: true}, dir)
	for _, err := range f.all(func(_ int, s *Store) error {
		snapshot, err := s.Restore(t.Context(), &bytes.Buffer{})
		if err == nil && snapshot.Run != run {
			err = fmt.Errorf("%s has restored step %d of run %q", snapshot.Host, snapshot.Step, snapshot.Run)
		}
		return err
	}) {
		require.NoError(t, err)
	}
}

// Files of one name would replace each other in S3, and each host would restore the state of one.
func TestHostsOfOneNameAreAnError(t *testing.T) {
	f := newFleet(t, 3, Options{}, shared(t))
	f.stores[2].opts.Host = "algo-1"
	_, errs := f.restore()
	for _, err := range errs {
		require.EqualError(t, err, "checkpoint: the hosts of ranks 0 and 2 are both called algo-1, and would save to the same files")
	}
	f = newFleet(t, 2, Options{LeaderOnly: true}, shared(t))
	f.stores[1].opts.Host = "algo-1"
	f.requireNone()
}

func TestOneHostsTroubleIsAllHosts(t *testing.T) {
	parameters := map[string]string{"k": "1"}
	for name, c := range map[string]struct {
		want  string
		spoil func(f *fleet)
	}{
		"damage": {"step 1: checksum mismatch", func(f *fleet) { damage(t, f.stores[1], 1) }},
		"a file for a directory": {"not a directory", func(f *fleet) {
			f.stores[1].dir = pathOf(f.stores[0], 1)
		}},
		"other hyperparameters": {"other hyperparameters: k was", func(f *fleet) {
			f.stores[1].opts.HyperParameters = map[string]string{"k": "2"}
		}},
		"another number of hosts": {"algo-2", func(f *fleet) {
			f.stores[1].opts.LeaderOnly = true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 2, Options{HyperParameters: parameters}, shared(t))
			f.requireNone()
			for _, s := range f.stores {
				save(t, s, 1)
			}
			c.spoil(f)
			_, errs := f.restore()
			for _, err := range errs {
				require.ErrorContains(t, err, c.want)
				require.NotErrorIs(t, err, ErrNone)
				require.Equal(t, 1, strings.Count(err.Error(), c.want))
				require.Equal(t, 1, strings.Count(err.Error(), "checkpoint: "), err)
			}
		})
	}
}

func TestMoreHostsCannotRestoreWhatEachSaved(t *testing.T) {
	dir := shared(t)
	f := newFleet(t, 2, Options{}, dir)
	f.requireNone()
	for _, s := range f.stores {
		save(t, s, 7)
	}
	f.close()
	f = newFleet(t, 3, Options{}, dir)
	_, errs := f.restore()
	for rank, err := range errs {
		require.ErrorContains(t, err, "step 7: saved by one of 2 hosts, and now there are 3", rank)
		require.True(t, isClientError(err), "the settings are at fault, also on the host that has no snapshot")
	}
}

func TestMoreHostsRestoreWhatTheLeaderSaved(t *testing.T) {
	dir := shared(t)
	f := newFleet(t, 2, Options{LeaderOnly: true}, dir)
	f.requireNone()
	for _, s := range f.stores {
		save(t, s, 7)
	}
	require.Equal(t, []int64{7}, steps(t, f.stores[0]))
	f.close()
	newFleet(t, 3, Options{LeaderOnly: true}, dir).requireStep(7)
	newFleet(t, 1, Options{LeaderOnly: true}, dir).requireStep(7)
}

// The service brings the leader's snapshots to all hosts. Where it did not, nobody begins anew.
func TestALeadersSnapshotThatOneHostLacksIsAnError(t *testing.T) {
	base := t.TempDir()
	f := newFleet(t, 2, Options{LeaderOnly: true}, func(rank int) string { return filepath.Join(base, fmt.Sprint(rank)) })
	f.requireNone()
	save(t, f.stores[0], 7)
	_, errs := f.restore()
	for _, err := range errs {
		require.EqualError(t, err, "checkpoint: step 7: algo-1 has the leader's snapshot, algo-2 does not")
	}
}

// A host that has others of the leader's snapshots, and none in common, is as badly off as one that has none.
func TestLeadersSnapshotsThatDifferAreAnError(t *testing.T) {
	base := t.TempDir()
	f := newFleet(t, 2, Options{LeaderOnly: true, Keep: 1}, func(rank int) string { return filepath.Join(base, fmt.Sprint(rank)) })
	f.requireNone()
	save(t, f.stores[0], 7)
	require.NoError(t, os.Mkdir(f.stores[1].dir, 0o755))
	data, err := os.ReadFile(pathOf(f.stores[0], 7))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pathOf(f.stores[1], 7), data, 0o644)) // as the service does at the start
	f.requireStep(7)
	save(t, f.stores[0], 9)
	_, errs := f.restore()
	for _, err := range errs {
		require.EqualError(t, err, "checkpoint: step 9: algo-1 has the leader's snapshot, algo-2 does not")
	}
}

// garbled is a cluster whose messages arrive otherwise.
type garbled struct {
	fixed
	length float64
}

func (g garbled) Gather(context.Context, []byte) ([][]byte, error) {
	return [][]byte{[]byte("{}"), []byte("no JSON")}, nil
}

func (g garbled) Broadcast(_ context.Context, _ int, x []float64) error {
	if g.length != 0 {
		x[0] = g.length
	}
	return nil
}

func TestWhatOtherHostsSayIsNotTrusted(t *testing.T) {
	_, err := NewStore(t.TempDir(), Options{Cluster: garbled{fixed: fixed{size: 2}}}).LastCommon(t.Context())
	require.ErrorContains(t, err, "host of rank 1: invalid character")
	for _, length := range []float64{-1, 1e300, 1 << 40} {
		_, err := NewStore(t.TempDir(), Options{Cluster: garbled{fixed{rank: 1, size: 2}, length}}).LastCommon(t.Context())
		require.ErrorContains(t, err, "bytes to say")
	}
}

func TestWaitingForOtherHostsEndsWithTheContext(t *testing.T) {
	f := newFleet(t, 2, Options{}, shared(t))
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := f.stores[1].LastCommon(ctx)
	require.ErrorIs(t, err, cause)
}
