package atomicfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesOfEveryLengthHoldWhatWasWritten(t *testing.T) {
	for _, place := range []string{"", "/dev/shm"} { // a disk's file system, as a rule, and one in memory
		dir, err := os.MkdirTemp(place, "algospec-atomicfile-")
		if place != "" && err != nil {
			t.Skipf("no file system in memory: %v", err)
		}
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		path := filepath.Join(dir, "file")
		for _, length := range []int{0, 1, 4096, blockSize - 1, blockSize, blockSize + 1, 3*blockSize + 7} {
			want := make([]byte, length)
			for i := range want {
				want[i] = byte(i * 7 >> 3)
			}
			for _, piece := range []int{1001, blockSize, 5 << 20} {
				require.NoError(t, Replace(OS{}, path, pieces{want, piece}))
				got, err := os.ReadFile(path)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, got), "%s: %d bytes in pieces of %d", dir, length, piece)
			}
		}
	}
}

// Where a write cannot be as it must be past the cache, it goes the usual way, with the usual error.
func TestAWriteThatIsRefusedPastTheCacheGoesTheUsualWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	file, err := create(path)
	require.NoError(t, err)
	d := file.(*direct)
	_, err = d.file.Seek(3, 0) // a place that no such write may begin at
	require.NoError(t, err)
	want := bytes.Repeat([]byte("abc"), blockSize)
	_, err = d.Write(want)
	require.NoError(t, err)
	require.NoError(t, d.Sync())
	require.NoError(t, d.Close())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(append(make([]byte, 3), want...), got))

	file, err = create("/dev/full")
	require.NoError(t, err)
	_, err = file.Write(want)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, file.Close())
}

// pieces are bytes that are written so many at a time.
type pieces struct {
	bytes []byte
	size  int
}

func (p pieces) WriteTo(w io.Writer) (n int64, err error) {
	for rest := p.bytes; len(rest) > 0; rest = rest[min(len(rest), p.size):] {
		written, err := w.Write(rest[:min(len(rest), p.size)])
		n += int64(written)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
