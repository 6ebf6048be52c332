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
	"go.uber.org/goleak"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/channel/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// same returns what a Source gives that has the same data in every epoch.
func same(data []byte) (want [channeltest.Epochs][]byte) {
	for i := range want {
		want[i] = data
	}
	return want
}

func TestEverySourceKeepsTheContract(t *testing.T) {
	for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("0123456789"), 1000)} {
		t.Run(fmt.Sprintf("Memory of %d bytes", len(data)), func(t *testing.T) {
			require.NoError(t, channeltest.TestSource(t.Context(), channel.Memory(data), same(data)))
		})
		t.Run(fmt.Sprintf("Files of %d bytes", len(data)), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a", data[:len(data)/3])
			write(t, dir, "b", nil)
			write(t, dir, "c", data[len(data)/3:])
			require.NoError(t, channeltest.TestSource(t.Context(), channel.Files{Dir: dir}, same(data)))
		})
		t.Run(fmt.Sprintf("FIFO of %d bytes", len(data)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "train")
			serve(t, path, channeltest.Epochs, data)
			require.NoError(t, channeltest.TestSource(t.Context(), channel.FIFO{Path: path}, same(data)))
		})
	}
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

func TestFilesAreReadInByteOrderAndMarkersAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"part/c", "part-1", "a", "B", // byte order: B, a, part-1, part/c ('-' before '/')
		".amazon.manifest", "_SUCCESS", ".git/x", "_temporary/y", "a.sagemaker-uploaded",
	} {
		write(t, dir, name, []byte(name+"\n"))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "z-link")))
	epoch, err := (&channel.Channel{Name: "train", Source: channel.Files{Dir: dir}}).Open(t.Context())
	require.NoError(t, err)
	defer epoch.Close()
	got, err := io.ReadAll(epoch)
	require.NoError(t, err)
	require.Equal(t, "B\na\npart-1\npart/c\na\n", string(got))
}

func TestErrorsNameTheChannelAndTheEpoch(t *testing.T) {
	ctx := t.Context()
	c := &channel.Channel{Name: "train", Source: channel.Files{Dir: filepath.Join(t.TempDir(), "none")}}
	_, err := c.Open(ctx)
	require.ErrorContains(t, err, "channel train, epoch 0: ")
	require.ErrorIs(t, err, os.ErrNotExist)

	c = &channel.Channel{Name: "train", Source: channel.Absent{"test", "validation"}}
	_, err = c.Open(ctx)
	require.EqualError(t, err, "channel train: the algorithm needs it, and the job has only test, validation")
	client, ok := errors.AsType[interface {
		error
		ClientError() bool
	}](err)
	require.True(t, ok && client.ClientError())
}

func TestAtLeavesCausesAlone(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	epoch, err := (&channel.Channel{Name: "train", Source: channel.Memory("x")}).Open(ctx)
	require.NoError(t, err)
	defer epoch.Close()
	place := epoch.At(errors.New("record 3"))
	require.EqualError(t, place, "channel train, epoch 0: record 3")
	require.Equal(t, place, epoch.At(place), "placed once")
	require.Equal(t, io.EOF, epoch.At(io.EOF))
	cancel(stop)
	require.Equal(t, stop, epoch.At(stop))
}

func ExampleChannel_Epochs() {
	train := &channel.Channel{Name: "train", Source: channel.Memory("ten bytes.")}
	for epoch, err := range train.Epochs(context.Background(), 2) {
		if err != nil {
			fmt.Println(err)
			return
		}
		n, err := io.Copy(io.Discard, epoch)
		fmt.Println("epoch", epoch.Number, "has", n, "bytes", err)
	}
	// Output:
	// epoch 0 has 10 bytes <nil>
	// epoch 1 has 10 bytes <nil>
}
