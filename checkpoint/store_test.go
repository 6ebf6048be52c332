package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/atomicfile"
)

// open returns a store in a directory, closed when the test ends.
func open(t *testing.T, dir string, opts Options) *Store {
	s := NewStore(dir, opts)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTheNewestIsRestored(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "not", "there", "yet"), Options{})
	require.Equal(t, int64(-1), restored(t, s))
	save(t, s, 1, 2, 3)
	require.Equal(t, int64(3), restored(t, s))
	latest, err := s.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), latest.Step)
}

func TestWhatIsSavedBesideTheStateComesBack(t *testing.T) {
	parameters := map[string]string{"k": "10"}
	s := open(t, t.TempDir(), Options{Host: "algo-7.my-job", HyperParameters: parameters})
	saved := Snapshot{
		Step: 9, Positions: []Position{{Channel: "train", Epoch: 2, Records: 70}},
		Random: []byte{1, 2}, Meta: map[string]string{"loss": "0.5"},
	}
	require.NoError(t, s.Save(t.Context(), saved, text("")))
	got, err := s.Restore(t.Context(), &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, Position{Channel: "train", Epoch: 2, Records: 70}, got.Position("train"))
	require.Equal(t, Position{Channel: "test"}, got.Position("test"))
	require.Equal(t, []any{"algo-7.my-job", 0, 1, int64(1)}, []any{got.Host, got.Rank, got.Size, got.Serial})
	require.Equal(t, []any{saved.Random, saved.Meta, parameters}, []any{got.Random, got.Meta, got.HyperParameters})
}

func TestADamagedSnapshotIsPassedOverForTheNextOlder(t *testing.T) {
	var log bytes.Buffer
	s := open(t, t.TempDir(), Options{Logger: logTo(&log)})
	save(t, s, 1200, 1300, 1400)
	damage(t, s, 1400)
	require.NoError(t, os.Truncate(pathOf(s, 1300), 500))
	require.Equal(t, int64(1200), restored(t, s))
	require.Contains(t, log.String(), `step=1400`)
	require.Contains(t, log.String(), `error="checksum mismatch"`)
	require.Contains(t, log.String(), `error="cut short"`)

	save(t, s, 1300) // again, from there
	require.Equal(t, int64(1300), restored(t, s))
}

func TestWhereNoneIsWholeNothingBeginsAnew(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	save(t, s, 1200, 1300)
	damage(t, s, 1200)
	damage(t, s, 1300)
	_, err := s.Restore(t.Context(), &bytes.Buffer{})
	require.EqualError(t, err, "checkpoint: no snapshot is whole: step 1300: checksum mismatch; step 1200: checksum mismatch")
	require.NotErrorIs(t, err, ErrNone)
	require.ErrorIs(t, err, ErrChecksum)
	one, ok := errors.AsType[*Error](err)
	require.True(t, ok)
	require.Equal(t, pathOf(s, 1300), one.Path)
}

func TestAFutureVersionIsPassedOverAndStays(t *testing.T) {
	s := open(t, t.TempDir(), Options{Keep: 1})
	require.NoError(t, os.WriteFile(pathOf(s, 5), future(t), 0o644))
	_, err := s.Restore(t.Context(), &bytes.Buffer{})
	require.EqualError(t, err, "checkpoint: no snapshot is whole: step 5: format version 2, and this program reads version 1")
	save(t, s, 3, 4)
	require.Equal(t, int64(4), restored(t, s))
	require.Equal(t, []int64{4, 5}, steps(t, s))
}

func TestARenamedFileIsNotRestored(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	save(t, s, 1, 2)
	require.NoError(t, os.Rename(pathOf(s, 1), pathOf(s, 3)))
	other := s.name(4)
	other.Host = "algo-2"
	require.NoError(t, os.Rename(pathOf(s, 3), filepath.Join(s.dir, other.String())))
	require.Equal(t, int64(2), restored(t, s))
	two := open(t, s.dir, Options{Host: "algo-2"})
	_, err := two.Restore(t.Context(), &bytes.Buffer{})
	require.ErrorContains(t, err, "step 4: the name is another snapshot's: the file holds step 1")
	require.NoError(t, os.Rename(filepath.Join(s.dir, other.String()), strings.Replace(pathOf(s, 1), "algo-1", "algo-2", 1)))
	_, err = two.Restore(t.Context(), &bytes.Buffer{})
	require.ErrorContains(t, err, "step 1: the name is another snapshot's: the file holds one of algo-1")
}

func TestOtherHyperparametersAreRefused(t *testing.T) {
	dir := t.TempDir()
	old := open(t, dir, Options{HyperParameters: map[string]string{"k": "10", "epochs": "5", "gone": "x"}})
	save(t, old, 100, 200)
	require.NoError(t, old.Close())

	now := map[string]string{"k": "20", "epochs": "9", "new": "y"}
	s := open(t, dir, Options{HyperParameters: now})
	_, err := s.Restore(t.Context(), &bytes.Buffer{})
	require.EqualError(t, err, `checkpoint: step 200: saved with other hyperparameters: epochs was "5", now "9"; `+
		`gone was "x", now not set; k was "10", now "20"; new was not set, now "y"`)
	client, ok := errors.AsType[interface {
		error
		ClientError() bool
	}](err)
	require.True(t, ok && client.ClientError())

	told := open(t, dir, Options{HyperParameters: now, AnyHyperParameters: true})
	require.Equal(t, int64(200), restored(t, told))
	only := open(t, dir, Options{HyperParameters: now, MayDiffer: []string{"k", "new", "gone", "epochs"}})
	require.Equal(t, int64(200), restored(t, only))

	save(t, s, 100) // which begins anew, and does not write over the other's
	require.Equal(t, int64(100), restored(t, s))
	require.Equal(t, []int64{100, 100, 200}, steps(t, s))
	save(t, s, 110, 120, 130, 140)
	require.Equal(t, int64(200), restored(t, reopen(t, old)), "nor deletes them")
	require.Equal(t, int64(140), restored(t, told), "the newest is the one saved last")
}

// The job may change its map while a snapshot is written in the background.
func TestHyperparametersAreThoseOfTheBeginning(t *testing.T) {
	parameters := map[string]string{"k": "10"}
	s := open(t, t.TempDir(), Options{HyperParameters: parameters})
	save(t, s, 1)
	parameters["k"] = "20"
	require.Equal(t, int64(1), restored(t, s))
}

func TestAnotherNumberOfHostsIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{Cluster: fixed{size: 2}})
	save(t, s, 7)
	_, err := open(t, dir, Options{}).Restore(t.Context(), &bytes.Buffer{})
	require.EqualError(t, err, "checkpoint: step 7: saved by one of 2 hosts, and now there are 1")
}

// fixed is a cluster that does nothing.
type fixed struct {
	Cluster
	rank, size int
}

func (f fixed) Rank() int { return f.rank }
func (f fixed) Size() int { return f.size }

func TestTheLeadersSnapshotIsForAnyNumberOfHosts(t *testing.T) {
	dir := t.TempDir()
	lead := open(t, dir, Options{LeaderOnly: true, Cluster: fixed{size: 2}})
	follow := open(t, dir, Options{LeaderOnly: true, Cluster: fixed{rank: 1, size: 2}, Host: "algo-2"})
	save(t, follow, 8) // nothing
	require.Empty(t, steps(t, lead))
	save(t, lead, 9)
	require.Equal(t, int64(9), restored(t, open(t, dir, Options{LeaderOnly: true, Host: "alone"})))
	require.Equal(t, int64(-1), restored(t, open(t, dir, Options{})), "it is not algo-1's own")
}

func TestHostsShareADirectory(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir, Options{Host: "algo-1", Keep: 1}), open(t, dir, Options{Host: "algo-2", Keep: 2})
	save(t, one, 1, 2)
	save(t, two, 1, 2, 3)
	save(t, one, 3, 4)
	require.Equal(t, []int64{2, 3, 4}, steps(t, one))
	require.Equal(t, int64(4), restored(t, one))
	require.Equal(t, int64(3), restored(t, two))
}

func TestOfTwoStoresOfOneHostTheSecondIsLockedOut(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir, Options{}), open(t, dir, Options{})
	save(t, one, 1)
	err := two.Save(t.Context(), Snapshot{Step: 2}, text(""))
	require.ErrorIs(t, err, ErrLocked)
	require.EqualError(t, err, "checkpoint: "+dir+": algo-1: another process saves snapshots of this host here")
	require.Equal(t, int64(1), restored(t, two), "reading needs no lock")
	require.NoError(t, one.Close())
	save(t, two, 2)
	require.ErrorIs(t, one.Save(t.Context(), Snapshot{Step: 3}, text("")), ErrClosed)
}

func TestOnlyTheNewestAreKept(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	save(t, s, 10, 20, 30, 40)
	require.Equal(t, []int64{20, 30, 40}, steps(t, s))
	s = open(t, s.dir, Options{})
	require.Equal(t, int64(40), restored(t, s))
}

// A run that begins anew has smaller steps, and the newest snapshots nevertheless.
func TestTheNewestIsTheOneSavedLastWhateverItsStep(t *testing.T) {
	s := NewStore(t.TempDir(), Options{Keep: 2})
	save(t, s, 1000, 1100)
	s = reopen(t, s)
	save(t, s, 10)
	require.Equal(t, []int64{10, 1100}, steps(t, s))
	require.Equal(t, int64(10), restored(t, s))
	save(t, s, 20)
	require.Equal(t, []int64{10, 20}, steps(t, s))
	save(t, s, 10)
	require.Equal(t, int64(10), restored(t, s))
	require.NoError(t, s.Close())
}

// What was restored is what the other hosts have, too: it stays longer than what was passed over.
func TestWhatWasRestoredOutlivesWhatWasPassedOver(t *testing.T) {
	s := NewStore(t.TempDir(), Options{Keep: 3, Cluster: fixed{size: 2}})
	save(t, s, 100, 200, 300)
	s = reopen(t, s)
	_, err := s.RestoreStep(t.Context(), 100, &bytes.Buffer{})
	require.NoError(t, err)
	save(t, s, 150, 160)
	require.Equal(t, []int64{100, 150, 160}, steps(t, s))
	require.NoError(t, s.Close())
}

func TestWhatWasBeingWrittenIsSweptUp(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	left := pathOf(s, 5) + atomicfile.Suffix
	others := strings.Replace(left, "algo-1", "algo-2", 1)
	require.NoError(t, os.WriteFile(left, bytesOf(t, full, text("whole, but not renamed")), 0o644))
	require.NoError(t, os.WriteFile(others, nil, 0o644))
	require.Equal(t, int64(-1), restored(t, s))
	save(t, s, 6)
	require.NoFileExists(t, left)
	require.FileExists(t, others)
}

func TestSavingEndsWithItsContext(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	save(t, s, 1)
	cause := errors.New("the instance goes away")
	ctx, cancel := context.WithCancelCause(t.Context())
	state := writerFunc(func(w io.Writer) error {
		for range 1000 {
			if _, err := w.Write(make([]byte, bufferSize)); err != nil {
				return err
			}
			cancel(cause)
		}
		return nil
	})
	require.ErrorIs(t, s.Save(ctx, Snapshot{Step: 2}, state), cause)
	require.ErrorIs(t, s.Save(ctx, Snapshot{Step: 2}, text("")), cause)
	_, err := s.Restore(ctx, &bytes.Buffer{})
	require.ErrorIs(t, err, cause)
	require.Equal(t, []int64{1}, steps(t, s))
	require.NoFileExists(t, pathOf(s, 2)+atomicfile.Suffix)
}

func TestAStateThatFailsIsNotSaved(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	bad := errors.New("bad model")
	err := s.Save(t.Context(), Snapshot{Step: 4}, writerFunc(func(w io.Writer) error { return bad }))
	require.EqualError(t, err, "checkpoint: step 4: bad model")
	require.ErrorIs(t, err, bad)
	require.Equal(t, int64(-1), restored(t, s))
}

func TestWhatCannotBeAStoreSaysSo(t *testing.T) {
	for want, s := range map[string]*Store{
		"checkpoint: no directory":                                  NewStore("", Options{}),
		`checkpoint: host "a/b" cannot be part of a file's name`:    NewStore(t.TempDir(), Options{Host: "a/b"}),
		`checkpoint: host "leader" cannot be part of a file's name`: NewStore(t.TempDir(), Options{Host: "leader"}),
	} {
		require.EqualError(t, s.Save(t.Context(), Snapshot{}, text("")), want)
		_, err := s.Restore(t.Context(), &bytes.Buffer{})
		require.EqualError(t, err, want)
	}
	s := open(t, t.TempDir(), Options{})
	require.EqualError(t, s.Save(t.Context(), Snapshot{Step: -1}, text("")), "checkpoint: step -1: not between 0 and 999999999999")
	require.Error(t, s.Save(t.Context(), Snapshot{Step: maxStep + 1}, text("")))
	save(t, s, maxStep)
	require.Equal(t, int64(maxStep), restored(t, s))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.ErrorContains(t, NewStore(file, Options{}).Save(t.Context(), Snapshot{}, text("")), "checkpoint: mkdir "+file)
}

func TestNamesAreThoseOfSnapshotsOnly(t *testing.T) {
	name := Name{1200, "algo-1.x", "8d5b2a01"}
	require.Equal(t, "step-000000001200.algo-1.x.8d5b2a01.ckpt", name.String())
	got, ok := ParseName(name.String())
	require.True(t, ok)
	require.Equal(t, name, got)
	for _, text := range []string{
		name.String() + uploading, name.String() + uploaded, name.String() + atomicfile.Suffix, "." + name.String(),
		"step-1200.algo-1.8d5b2a01.ckpt", "step-000000001200.8d5b2a01.ckpt", "model.ckpt", "",
		"step-00000000120x.algo-1.8d5b2a01.ckpt", "step-000000001200.a/b.8d5b2a01.ckpt",
	} {
		_, ok := ParseName(text)
		require.False(t, ok, text)
	}
}
