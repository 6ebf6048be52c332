package algorithms_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
)

// text is a State.
type text string

func (s *text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(*s))
	return int64(n), err
}

func (s *text) ReadFrom(r io.Reader) (int64, error) {
	all, err := io.ReadAll(r)
	*s = text(all)
	return int64(len(all)), err
}

// everyBatch saves a snapshot of every batch, or of as many as can be written.
var everyBatch = algorithms.SnapshotOptions{Every: time.Nanosecond}

func TestWithoutCheckpointsNothingIsKept(t *testing.T) {
	var state text
	for name, s := range map[string]*algorithms.Snapshots{"zero": {}, "resumed": resume(t, &algospec.Job{}, &state)} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.Offer(t.Context(), checkpoint.Position{Channel: "train", Records: 3}))
			require.Equal(t, int64(1), s.Step())
			require.NoError(t, s.Final(t.Context()))
			require.NoError(t, s.Close(t.Context()))
		})
	}
}

func resume(t *testing.T, job *algospec.Job, state algorithms.State) *algorithms.Snapshots {
	t.Helper()
	s, err := algorithms.Resume(t.Context(), job, state, everyBatch)
	require.NoError(t, err)
	return s
}

func TestARunGoesOnWhereEachChannelWas(t *testing.T) {
	job := &algospec.Job{CheckpointDir: algospec.Dir(t.TempDir()), HyperParameters: hyperparams.Map{"k": "1"}}
	state := text("a")
	first := resume(t, job, &state)
	at := []checkpoint.Position{{Channel: "train", Records: 3}, {Channel: "more", Epoch: 1, Records: 5}, {Channel: "train", Records: 6}}
	for _, end := range at {
		require.Equal(t, checkpoint.Position{Channel: "none"}, first.Position("none"))
		require.NoError(t, first.Offer(t.Context(), end))
	}
	require.NoError(t, first.Final(t.Context()))
	require.NoError(t, first.Close(t.Context()))

	var restored text
	second := resume(t, job, &restored)
	require.Equal(t, state, restored)
	require.Equal(t, int64(3), second.Step())
	require.Equal(t, at[2], second.Position("train"))
	require.Equal(t, at[1], second.Position("more"))
	require.NoError(t, second.Close(t.Context()))
}

func TestASnapshotThatCannotBeSavedIsAWarning(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	job := &algospec.Job{CheckpointDir: algospec.Dir(dir), Stdout: &log}
	var state text
	s := resume(t, job, &state)
	require.NoError(t, s.Offer(t.Context(), checkpoint.Position{Channel: "train"}))
	require.NoError(t, s.Close(t.Context()))

	s = resume(t, job, &state)
	// A directory stands where the snapshot of step 3 is to be.
	files, err := filepath.Glob(filepath.Join(dir, "step-000000000001.*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	third := filepath.Join(dir, "step-000000000003"+filepath.Base(files[0])[len("step-000000000001"):])
	require.NoError(t, s.Offer(t.Context(), checkpoint.Position{Channel: "train"})) // step 2 takes the lock
	require.NoError(t, s.Final(t.Context()))
	require.NoError(t, os.MkdirAll(filepath.Join(third, "in the way"), 0o755))
	require.NoError(t, s.Offer(t.Context(), checkpoint.Position{Channel: "train"}))
	require.NoError(t, s.Final(t.Context()))
	require.Contains(t, log.String(), "warning: checkpoint: step 3: ")
	require.Contains(t, log.String(), "; training goes on without this snapshot")
	require.NoError(t, s.Close(t.Context()))
}

// Where the state is that of all hosts, all go on from the same step.
func TestHostsGoOnTogether(t *testing.T) {
	dir := t.TempDir()
	for run := range 3 {
		hosts := cluster.Loopback(2)
		var group errgroup.Group
		steps := make([]int64, 2)
		for rank, host := range hosts {
			job := &algospec.Job{CheckpointDir: algospec.Dir(dir), Host: []string{"algo-1", "algo-2"}[rank], Cluster: host}
			group.Go(func() error {
				var state text
				s, err := algorithms.Resume(t.Context(), job, &state, everyBatch)
				if err != nil {
					return err
				}
				steps[rank] = s.Step()
				for range 5 + 3*run {
					if err := s.Offer(t.Context(), checkpoint.Position{Channel: "train"}); err != nil {
						return err
					}
				}
				return s.Close(t.Context())
			})
		}
		require.NoError(t, group.Wait())
		require.Equal(t, steps[0], steps[1])
		require.Equal(t, run > 0, steps[0] > 0)
	}
}
