package records

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/convert"
)

// frames returns n rows.
func frames(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for i := range n {
		require.NoError(t, w.WriteRow([]float32{float32(i), 1}))
	}
	require.NoError(t, w.Flush())
	return b.Bytes()
}

func inputOf(data []byte) *input {
	return &input{framing: defaults, progress: &console.Progress{}, parts: []part{{
		name: "part", replayable: true,
		open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}}}
}

func TestInputThatChangesBetweenTwoPassesIsAnError(t *testing.T) {
	shard := Shard{N: 2, framing: defaults}
	for rows, want := range map[int64]error{3: errChanged, 4: nil, 5: errChanged} {
		_, err := shard.write(t.Context(), console.Streams{}, inputOf(frames(t, 4)), dirSink(t.TempDir()), rows)
		require.ErrorIs(t, err, want)
		job := conversion{Convert: &Convert{}, from: convert.RecordIO, to: convert.CSV, counted: true, rows: rows}
		require.ErrorIs(t, job.copy(t.Context(), inputOf(frames(t, 4)), io.Discard), want)
	}
	damaged := append(frames(t, 4), "damage"...)
	_, err := shard.write(t.Context(), console.Streams{}, inputOf(damaged), dirSink(t.TempDir()), 4)
	require.ErrorIs(t, err, recordio.ErrMagic)
}

// The records in front of a damaged end of gzip are whole.
func TestVerifyKeepsTheLastRecordOfGzipWithoutItsTrailer(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(frames(t, 6))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	name := filepath.Join(t.TempDir(), "cut.gz")
	require.NoError(t, os.WriteFile(name, b.Bytes()[:b.Len()-8], 0o600))
	var out bytes.Buffer
	verify := Verify{Inputs: []string{name}, framing: defaults}
	require.ErrorIs(t, verify.Run(t.Context(), console.Streams{Out: &out}), console.ErrTold)
	require.Contains(t, out.String(), "after 6 records: gzip: ")
	require.Contains(t, out.String(), "\n6 records survive; damage in 1 place, 0 bytes lost\n")
}

// told is a sink's file: what stands in it when success is told.
type told struct{ dir string }

func (o told) Write(p []byte) (int, error) {
	_, err := os.Stat(filepath.Join(o.dir, convert.ManifestName))
	return len(p), err
}

func TestShardTellsSuccessBehindTheManifestAndNotesThatItCannot(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pbr")
	require.NoError(t, os.WriteFile(in, frames(t, 4), 0o600))
	for out, want := range map[io.Writer]error{
		told{filepath.Join(dir, "a")}: nil, told{filepath.Join(dir, "nowhere")}: os.ErrNotExist,
	} {
		shard := Shard{Input: in, N: 2, Out: filepath.Join(dir, "a"), framing: defaults}
		require.NoError(t, os.RemoveAll(shard.Out))
		require.ErrorIs(t, shard.Run(t.Context(), console.Streams{Out: out}), want)
	}
}
