package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/channel"
)

// The next epoch waits for the end of this one. So that a reader has left must show before the next
// write does, which may be long in coming; and what the Source has to say then is no failure.
func TestAReaderThatLeavesIsSeenWhileTheSourceIsSilent(t *testing.T) {
	began := make(chan struct{})
	for name, sent := range map[string]int{"at once": 0, "with the pipe full": 256 << 10} {
		t.Run(name, func(t *testing.T) {
			p := newPipe(t, sourceFunc(func(ctx context.Context, epoch int, b []byte) (int, error) {
				if epoch > 0 {
					return 0, io.EOF
				}
				if sent > 0 {
					n := min(sent, len(b))
					sent -= n
					return n, nil
				}
				began <- struct{}{}
				<-ctx.Done()
				return 0, errors.New("S3 is down")
			}))
			serve(t, p)
			reader, err := channel.FIFO{Path: p.path}.Open(t.Context(), 0)
			require.NoError(t, err)
			<-began
			require.NoError(t, reader.Close())
			reader, err = channel.FIFO{Path: p.path}.Open(t.Context(), 1)
			require.NoError(t, err)
			data, err := io.ReadAll(reader)
			require.NoError(t, err)
			require.Empty(t, data)
			require.NoError(t, reader.Close())
			require.Equal(t, 1, p.progress().Abandoned)
			require.Zero(t, p.progress().Bytes, "what nobody has read does not count")
		})
	}
}

func TestAnEpochThatIsClosedAtOnceIsNotFetched(t *testing.T) {
	p := newPipe(t, sourceFunc(func(_ context.Context, epoch int, _ []byte) (int, error) {
		if epoch == 0 {
			t.Error("epoch 0 is fetched")
		}
		return 0, io.EOF
	}))
	source := channel.FIFO{Path: p.path}
	reader, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	serve(t, p)
	reader, err = source.Open(t.Context(), 1)
	require.NoError(t, err)
	_, err = io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
}

func TestASecondReaderOfAnEpochIsNoted(t *testing.T) {
	p := newPipe(t, channel.Memory(bytes.Repeat([]byte("x"), 1<<20)))
	var warnings bytes.Buffer
	p.logger = slog.New(slog.NewTextHandler(&warnings, nil))
	serve(t, p)
	source := channel.FIFO{Path: p.path}
	for opens := range 2 {
		reader, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer reader.Close()
		require.Eventually(t, func() bool { return p.progress().Opens == opens+1 }, time.Minute, time.Millisecond)
		if opens == 1 {
			_, err = io.Copy(io.Discard, reader)
			require.NoError(t, err)
		}
	}
	reader, err := source.Open(t.Context(), 1) // so that the epoch has ended
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.Eventually(t, func() bool { return p.progress().Epoch == 1 }, time.Minute, time.Millisecond)
	require.Contains(t, warnings.String(), `level=WARN msg="channel train: epoch 0 was opened more than once: what one reader gets is lost to the others (container contract 2.1)"`)
}

// The end of an epoch is not a pipe without a writer, for which a reader would wait for ever.
func TestAnEpochCannotBeOpenedAgainAtItsEnd(t *testing.T) {
	path := servePipe(t, channel.Memory("data"))
	for epoch := range 20 {
		reader, err := channel.FIFO{Path: path}.Open(t.Context(), epoch)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, reader)
		require.NoError(t, err)
		_, err = os.OpenFile(fmt.Sprintf("%s_%d", path, epoch), os.O_RDONLY|unix.O_NONBLOCK, 0)
		require.ErrorIs(t, err, os.ErrNotExist)
		require.NoError(t, reader.Close())
	}
}
