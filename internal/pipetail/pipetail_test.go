package pipetail

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestWhatIsInThePipeAtTheDeadlineIsRead(t *testing.T) {
	said := bytes.Repeat([]byte("last words\n"), 5000)
	for name, close := range map[string]bool{"with its end": true, "without an end": false} {
		t.Run(name, func(t *testing.T) {
			r, w := pipe(t)
			_, err := w.Write(said)
			require.NoError(t, err)
			require.NoError(t, r.SetReadDeadline(time.Unix(1, 0)))
			want := os.ErrDeadlineExceeded
			if close {
				require.NoError(t, w.Close())
				want = nil
			}
			got, err := io.ReadAll(NewReader(r))
			require.ErrorIs(t, err, want)
			require.Equal(t, said, got)
		})
	}
}

func TestAReaderThatWaitsIsEndedByTheDeadline(t *testing.T) {
	r, w := pipe(t)
	_, err := w.WriteString("so far")
	require.NoError(t, err)
	got := make(chan string)
	go func() {
		said, _ := io.ReadAll(NewReader(r))
		got <- string(said)
	}()
	require.NoError(t, r.SetReadDeadline(time.Now().Add(time.Millisecond)))
	require.Equal(t, "so far", <-got)
}

func TestAWriterThatGoesOnIsNotFollowedForEver(t *testing.T) {
	r, w := pipe(t)
	require.NoError(t, r.SetReadDeadline(time.Unix(1, 0)))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for chunk := make([]byte, 1<<16); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}()
	n, err := io.Copy(io.Discard, NewReader(r))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.LessOrEqual(t, n, int64(2*limit))
	r.Close()
	<-ended
}
