package checkpoint

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const benchSize = 100 << 20

func benchState() *bytes.Reader {
	state := make([]byte, benchSize)
	random := rand.NewChaCha8([32]byte{})
	random.Read(state)
	return bytes.NewReader(state)
}

// Saving 100 MB against writing and syncing a file of as many bytes, and deleting the third last, in turns. It reports the quotient.
func BenchmarkSave(b *testing.B) {
	dir := b.TempDir()
	s := NewStore(dir, Options{})
	defer s.Close()
	state := benchState()
	var saving, writing time.Duration
	b.SetBytes(benchSize)
	step := int64(0)
	for b.Loop() {
		step++
		state.Seek(0, io.SeekStart)
		begin := time.Now()
		require.NoError(b, s.Save(b.Context(), Snapshot{Step: step}, state))
		saving += time.Since(begin)

		b.StopTimer()
		state.Seek(0, io.SeekStart)
		begin = time.Now()
		require.NoError(b, raw(filepath.Join(dir, fmt.Sprint("raw-", step)), state))
		os.Remove(filepath.Join(dir, fmt.Sprint("raw-", step-3)))
		writing += time.Since(begin)
		b.StartTimer()
	}
	b.ReportMetric(saving.Seconds()/writing.Seconds(), "of-raw")
}

func raw(path string, state io.WriterTo) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := state.WriteTo(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return file.Close()
}

// How long an Offer of 100 MB keeps training, against copying as many bytes. It reports the quotient.
func BenchmarkOffer(b *testing.B) {
	s := NewStore(b.TempDir(), Options{})
	defer s.Close()
	v := s.Saver(SaverOptions{EverySteps: 1})
	state, other := benchState(), make([]byte, benchSize)
	var buffer Buffer
	buffer.Copy(state)
	copyTo(other, &buffer) // so that both have their memory
	var copying time.Duration
	b.SetBytes(benchSize)
	step := int64(0)
	for b.Loop() {
		step++
		state.Seek(0, io.SeekStart)
		require.NoError(b, v.Offer(b.Context(), step, func() (Snapshot, io.WriterTo) { return Snapshot{}, buffer.Copy(state) }))
		b.StopTimer()
		require.NoError(b, v.Close(b.Context()))
		begin := time.Now()
		copyTo(other, &buffer)
		copying += time.Since(begin)
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/copying.Seconds(), "of-memcpy")
}

// copyTo copies the blocks of a Buffer.
func copyTo(dst []byte, buffer *Buffer) {
	for i, block := range buffer.blocks {
		copy(dst[i*blockSize:], block)
	}
}

// Verifying and loading 100 MB that the page cache has.
func BenchmarkRestore(b *testing.B) {
	s := NewStore(b.TempDir(), Options{})
	defer s.Close()
	require.NoError(b, s.Save(b.Context(), Snapshot{Step: 1}, benchState()))
	state := bytes.NewBuffer(make([]byte, 0, benchSize+bytes.MinRead))
	b.SetBytes(benchSize)
	for b.Loop() {
		state.Reset()
		_, err := s.Restore(b.Context(), state)
		require.NoError(b, err)
	}
}
