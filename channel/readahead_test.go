package channel_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

// A hose is a Source of an endless stream that counts what has been read and, where stuck is set,
// stops after so many bytes until its context is done.
type hose struct {
	stuck  int
	read   int
	closed bool
}

func (h *hose) Open(ctx context.Context, _ int) (io.ReadCloser, error) {
	return &hoseReader{h, ctx}, nil
}

type hoseReader struct {
	*hose
	ctx context.Context
}

func (h *hoseReader) Read(p []byte) (int, error) {
	if h.stuck > 0 {
		p = p[:min(len(p), h.stuck-h.read)]
		if len(p) == 0 {
			<-h.ctx.Done()
		}
	}
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	h.read += len(p)
	return len(p), nil
}

func (h *hoseReader) Close() error { h.closed = true; return nil }

func TestReadAheadReadsAsFarAsItsMemoryGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &hose{}
		r, err := channel.ReadAhead(src, 1000).Open(t.Context(), 0)
		require.NoError(t, err)
		for taken := 0; taken < 5000; taken += 300 {
			synctest.Wait()
			require.Equal(t, taken+1000, src.read)
			_, err := io.ReadFull(r, make([]byte, 300))
			require.NoError(t, err)
		}
		require.NoError(t, r.Close())
		require.True(t, src.closed)
	})
}

// The bubble fails the test if the goroutine is left.
func TestReadAheadEndsInTheMiddleOfAnything(t *testing.T) {
	for name, src := range map[string]*hose{"with its memory full": {}, "in a read": {stuck: 50}} {
		t.Run("closed "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := *src
				r, err := channel.ReadAhead(&src, 100).Open(t.Context(), 0)
				require.NoError(t, err)
				synctest.Wait()
				require.NoError(t, r.Close())
				require.True(t, src.closed)
			})
		})
		t.Run("cancelled "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, stop := *src, errors.New("stop")
				ctx, cancel := context.WithCancelCause(t.Context())
				r, err := channel.ReadAhead(&src, 100).Open(ctx, 0)
				require.NoError(t, err)
				synctest.Wait()
				cancel(stop)
				synctest.Wait()
				_, err = r.Read(make([]byte, 1))
				require.Equal(t, stop, err)
				require.NoError(t, r.Close())
			})
		})
	}
	t.Run("cancelled while its reader waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stop := errors.New("stop")
			ctx, cancel := context.WithCancelCause(t.Context())
			r, err := channel.ReadAhead(&hose{stuck: 50}, 100).Open(ctx, 0)
			require.NoError(t, err)
			go func() { synctest.Wait(); cancel(stop) }()
			n, err := io.Copy(io.Discard, r)
			require.EqualValues(t, 50, n)
			require.Equal(t, stop, err)
			require.NoError(t, r.Close())
		})
	})
}

func TestReadAheadKeepsTheOrderOfOddReads(t *testing.T) {
	data := noise(10_000)
	for _, size := range []int{1, 2, 3, 997, 1 << 20} {
		for name, odd := range map[string]func(io.Reader) io.Reader{
			"by the byte": iotest.OneByteReader, "by half": iotest.HalfReader, "end with data": iotest.DataErrReader,
		} {
			got, err := io.ReadAll(openEpoch(t, channel.ReadAhead(oddly{channel.Memory(data), odd}, size)))
			require.NoError(t, err)
			require.Equal(t, data, got, "%s into %d", name, size)
		}
	}
}

// oddly is a Source that reads in a way of its own.
type oddly struct {
	channel.Source
	wrap func(io.Reader) io.Reader
}

func (s oddly) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	r, err := s.Source.Open(ctx, epoch)
	return struct {
		io.Reader
		io.Closer
	}{s.wrap(r), r}, err
}

func TestASourceThatNeverReadsAnythingIsAnError(t *testing.T) {
	idle := func(io.Reader) io.Reader { return idleReader{} }
	_, err := io.ReadAll(openEpoch(t, channel.ReadAhead(oddly{channel.Memory("x"), idle}, 0)))
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }
