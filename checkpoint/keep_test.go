package checkpoint

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// mark puts a marker of the service beside a snapshot, or takes it away.
func mark(t requirer, s *Store, step int64, marker string, there bool) {
	t.Helper()
	if !there {
		s.disk.Remove(pathOf(s, step) + marker)
		return
	}
	file, err := s.disk.Create(pathOf(s, step) + marker)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

func TestWhatIsBeingUploadedStaysUntilItIs(t *testing.T) {
	s := open(t, t.TempDir(), Options{Keep: 1})
	save(t, s, 1)
	mark(t, s, 1, uploading, true)
	save(t, s, 2, 3)
	require.Equal(t, []int64{1, 3}, steps(t, s))
	require.Equal(t, int64(3), restored(t, s), "a marker is no snapshot")
	mark(t, s, 1, uploading, false)
	save(t, s, 4)
	require.Equal(t, []int64{4}, steps(t, s))
}

func TestTheNewestThatIsUploadedStays(t *testing.T) {
	s := open(t, t.TempDir(), Options{Keep: 1})
	save(t, s, 1)
	mark(t, s, 1, uploaded, true)
	save(t, s, 2, 3)
	require.Equal(t, []int64{1, 3}, steps(t, s), "the instance may be lost before 3 is in S3")
	mark(t, s, 3, uploaded, true)
	save(t, s, 4)
	require.Equal(t, []int64{3, 4}, steps(t, s))
}

func TestDamageIsPrunedFirst(t *testing.T) {
	s := open(t, t.TempDir(), Options{Keep: 2})
	save(t, s, 1, 2)
	require.NoError(t, os.WriteFile(pathOf(s, 9), []byte("nothing like it"), 0o644))
	save(t, s, 3)
	require.Equal(t, []int64{2, 3}, steps(t, s))
}

// A stuckDisk deletes nothing.
type stuckDisk struct{ disk }

func (stuckDisk) Remove(string) error { return fs.ErrPermission }

func TestWhatCannotBeDeletedIsNoErrorOfSaving(t *testing.T) {
	var log bytes.Buffer
	s := open(t, t.TempDir(), Options{Keep: 1, Logger: logTo(&log)})
	s.disk = stuckDisk{s.disk}
	save(t, s, 1, 2)
	require.Contains(t, log.String(), `older snapshots stay" error="permission denied"`)
	require.Equal(t, int64(2), restored(t, s))
	require.Equal(t, []int64{1, 2}, steps(t, s))
}

// A blindDisk cannot read one file.
type blindDisk struct {
	disk
	path string
}

func (d blindDisk) Open(path string) (fs.File, error) {
	if path == d.path {
		return nil, fs.ErrPermission
	}
	return d.disk.Open(path)
}

func TestNothingIsDeletedWhileASnapshotCannotBeRead(t *testing.T) {
	var log bytes.Buffer
	s := open(t, t.TempDir(), Options{Keep: 2, Logger: logTo(&log)})
	save(t, s, 1, 2)
	s.disk = blindDisk{s.disk, pathOf(s, 2)}
	save(t, s, 3)
	require.Equal(t, []int64{1, 2, 3}, steps(t, s))
	require.Contains(t, log.String(), `error="checkpoint: step 2: permission denied"`)
}

// Whatever is saved, lost, marked and restarted: a save is restored, the newest Keep that are whole are
// there, and nothing is deleted that is being uploaded, is the newest uploaded, or is somebody else's.
func TestKeepingIsSafeWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep := rapid.IntRange(1, 4).Draw(rt, "keep")
		disk := newCrashDisk()
		onDisk := func(opts Options) *Store {
			s := NewStore("dir", opts)
			s.disk = disk
			return s
		}
		s, other := onDisk(Options{Keep: keep}), onDisk(Options{Host: "algo-2", Keep: 1})
		save(rt, other, 100)
		require.NoError(rt, other.Close())
		var saved []int64 // in their order, those of which there is a whole file
		marks := map[int64]string{}
		pick := func(rt *rapid.T) int64 {
			if len(saved) == 0 {
				rt.Skip("nothing is saved")
			}
			return rapid.SampledFrom(saved).Draw(rt, "step")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"save": func(rt *rapid.T) {
				step := rapid.Int64Range(0, 12).Draw(rt, "step")
				newestUploaded := int64(-1)
				for _, step := range saved {
					if marks[step] == uploaded {
						newestUploaded = step
					}
				}
				save(rt, s, step)
				if i := slices.Index(saved, step); i >= 0 {
					saved = slices.Delete(saved, i, i+1)
				}
				if marks[step] == uploaded { // an earlier file of the name, which now counts as new
					newestUploaded = step
				}
				saved = append(saved, step)
				there := steps(rt, s)
				for i, step := range saved {
					if i >= len(saved)-keep || marks[step] == uploading || step == newestUploaded {
						require.Contains(rt, there, step)
					}
				}
				saved = slices.DeleteFunc(saved, func(step int64) bool { return !slices.Contains(there, step) })
			},
			"mark": func(rt *rapid.T) {
				step, marker := pick(rt), rapid.SampledFrom([]string{"", uploading, uploaded}).Draw(rt, "marker")
				for _, m := range []string{uploading, uploaded} {
					mark(rt, s, step, m, m == marker)
				}
				marks[step] = marker
			},
			"lose": func(rt *rapid.T) {
				step := pick(rt)
				i := slices.Index(saved, step)
				saved = slices.Delete(saved, i, i+1)
				require.NoError(rt, disk.Remove(pathOf(s, step)))
				for _, m := range []string{uploading, uploaded} {
					mark(rt, s, step, m, false)
				}
				delete(marks, step)
			},
			"restart": func(rt *rapid.T) { s = reopen(rt, s) },
			"": func(rt *rapid.T) {
				want := int64(-1)
				if len(saved) > 0 {
					want = saved[len(saved)-1]
				}
				require.Equal(rt, want, restored(rt, onDisk(Options{})))
				require.Equal(rt, int64(100), restored(rt, onDisk(Options{Host: "algo-2"})))
			},
		})
	})
}
