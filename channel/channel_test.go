package channel_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

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

func ExampleMemory() {
	train := &channel.Channel{Name: "train", Source: channel.Memory("1,2\n3,4\n")}
	epoch, err := train.Open(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer epoch.Close()
	for lines := bufio.NewScanner(epoch); lines.Scan(); {
		fmt.Println(lines.Text())
	}
	// Output:
	// 1,2
	// 3,4
}
