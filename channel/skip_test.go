package channel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

// counted counts the bytes that are read from a Source, and hides what else its readers can do.
type counted struct {
	channel.Source
	read *int64
}

func (c counted) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	r, err := c.Source.Open(ctx, epoch)
	return &countedReader{r, c.read}, err
}

type countedReader struct {
	io.ReadCloser
	read *int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	*r.read += int64(n)
	return n, err
}

// skipSources are Sources of the same bytes.
func skipSources(t *testing.T, parts [][]byte) map[string]channel.Source {
	dir := t.TempDir()
	whole := filepath.Join(t.TempDir(), "whole")
	require.NoError(t, os.WriteFile(whole, bytes.Join(parts, nil), 0o644))
	var memory []channel.Source
	for i, part := range parts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("part-", i)), part, 0o644))
		memory = append(memory, channel.Memory(part))
	}
	return map[string]channel.Source{
		"files":     channel.Files{Dir: dir},
		"file":      channel.File(whole),
		"memory":    channel.Memory(bytes.Join(parts, nil)),
		"joined":    channel.Concat{Sources: memory},
		"lines":     channel.Files{Dir: dir, Lines: true},
		"no seeker": counted{channel.Memory(bytes.Join(parts, nil)), new(int64)},
	}
}

func TestWhatIsSkippedIsNotSeenAndTheRestIsAllThere(t *testing.T) {
	parts := [][]byte{bytes.Repeat([]byte("abc\n"), 50_000), {}, []byte("x\n"), bytes.Repeat([]byte("0123456\n"), 30_000), {}}
	want := bytes.Join(parts, nil)
	for name, source := range skipSources(t, parts) {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 1000, 199_999, 200_000, 200_001, 200_002, 200_003, 300_000, len(want) - 1, len(want)} {
				c := &channel.Channel{Name: "train", Source: source}
				epoch, err := c.Open(t.Context())
				require.NoError(t, err)
				require.NoError(t, epoch.Skip(int64(n/3)))
				require.NoError(t, epoch.Skip(int64(n-n/3)))
				require.Equal(t, int64(n), epoch.Bytes())
				rest, err := io.ReadAll(epoch)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want[n:], rest), "after %d", n)
				require.NoError(t, epoch.Close())
			}
		})
	}
}

func TestAFileThatIsSkippedIsStillLocated(t *testing.T) {
	c := &channel.Channel{Name: "train", Source: skipSources(t, [][]byte{make([]byte, 500_000), make([]byte, 10), make([]byte, 500_000)})["files"]}
	epoch, err := c.Open(t.Context())
	require.NoError(t, err)
	defer epoch.Close()
	require.NoError(t, epoch.Skip(900_000))
	for offset, want := range map[int64]string{0: "part-0 0", 499_999: "part-0 499999", 500_005: "part-1 5", 900_000: "part-2 399990"} {
		name, at := epoch.Locate(offset)
		require.Equal(t, want, fmt.Sprint(name, " ", at))
	}
}

// Most of a large file is never read.
func TestSkippingInFilesSeeks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	require.NoError(t, os.Truncate(path, 1<<40))
	for _, source := range []channel.Source{channel.File(path), channel.Files{Dir: filepath.Dir(path)}} {
		epoch, err := (&channel.Channel{Source: source}).Open(t.Context())
		require.NoError(t, err)
		require.NoError(t, epoch.Skip(1<<40-5))
		rest, err := io.ReadAll(epoch)
		require.NoError(t, err)
		require.Len(t, rest, 5)
		require.NoError(t, epoch.Close())
	}
}

func TestSkippingEndsWhereTheEpochDoes(t *testing.T) {
	for name, source := range skipSources(t, [][]byte{[]byte("abc\n"), []byte("def\n")}) {
		epoch, err := (&channel.Channel{Name: "train", Source: source}).Open(t.Context())
		require.NoError(t, err)
		err = epoch.Skip(9)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
		require.ErrorContains(t, err, "channel train, epoch 0")
		require.NoError(t, epoch.Close())
		require.ErrorIs(t, epoch.Skip(1), os.ErrClosed)

		cause := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		epoch, err = (&channel.Channel{Name: "train", Source: source}).Open(ctx)
		require.NoError(t, err)
		cancel(cause)
		require.ErrorIs(t, epoch.Skip(3), cause, name)
		require.NoError(t, epoch.Close())
	}
}
