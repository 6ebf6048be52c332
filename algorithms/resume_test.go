//go:build unix

package algorithms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
)

// A platform gives a channel its data anew, as each start of a container finds them.
type platform func(t *testing.T, data [][]byte) channel.Source

// platforms give an epoch of the parts, rotated by the epoch's number so that no two epochs are alike where that can be.
var platforms = map[string]platform{
	"memory": func(t *testing.T, parts [][]byte) channel.Source {
		return channel.Memory(bytes.Join(parts, nil))
	},
	"file": func(t *testing.T, parts [][]byte) channel.Source {
		dir := t.TempDir()
		for i, part := range parts {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), part, 0o644))
		}
		return channel.Files{Dir: dir}
	},
	"pipe": func(t *testing.T, parts [][]byte) channel.Source {
		path := filepath.Join(t.TempDir(), "train")
		var writers sync.WaitGroup
		t.Cleanup(writers.Wait)
		stop := make(chan struct{})
		t.Cleanup(func() { close(stop) })
		for epoch := range 3 {
			require.NoError(t, syscall.Mkfifo(fmt.Sprintf("%s_%d", path, epoch), 0o600))
		}
		writers.Go(func() {
			for epoch := range 3 {
				pipe := openPipe(fmt.Sprintf("%s_%d", path, epoch), stop)
				if pipe == nil {
					return
				}
				pipe.Write(bytes.Join(rotated(parts, epoch), nil)) // which breaks off where the reader closes early
				pipe.Close()
			}
		})
		return channel.FIFO{Path: path}
	},
}

// rotated is the order of an epoch in Pipe mode.
func rotated(parts [][]byte, epoch int) [][]byte {
	return append(slices.Clone(parts[epoch%len(parts):]), parts[:epoch%len(parts)]...)
}

// openPipe opens the writing end when there is a reader, or returns nil when the test is over.
func openPipe(path string, stop <-chan struct{}) *os.File {
	for {
		pipe, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			return pipe
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// A seen batch is what a test remembers of one.
type seen struct {
	rows []float32
	end  checkpoint.Position
}

// read reads from a position to the end of the third epoch.
func readFrom(t *testing.T, source channel.Source, contentType string, from checkpoint.Position) (all []seen) {
	t.Helper()
	c := &channel.Channel{Name: "train", Source: source, Config: channel.Config{ContentType: contentType}}
	for ; from.Epoch < 3; from = (checkpoint.Position{Channel: "train", Epoch: from.Epoch + 1}) {
		for batch, err := range algorithms.BatchesFrom(t.Context(), c, batching(3, 4), from) {
			require.NoError(t, err)
			require.Equal(t, batch.End().Records, batch.First+int64(batch.Rows()))
			all = append(all, seen{slices.Clone(batch.X.Data), batch.End()})
		}
	}
	return all
}

func TestAResumedRunReadsExactlyTheRemainingRecords(t *testing.T) {
	var parts, lines [][]byte
	for i := range 3 {
		data := stream(t, 7+i, 3, false)
		data[24+4*i]++ // so that the parts differ
		parts = append(parts, data)
		var text bytes.Buffer
		for j := range 7 + i {
			fmt.Fprintf(&text, "%d,%d,%d\n", i, j, i*j)
		}
		lines = append(lines, text.Bytes())
	}
	for name, start := range platforms {
		for contentType, data := range map[string][][]byte{"application/x-recordio-protobuf": parts, "text/csv;label_size=0": lines} {
			t.Run(name+" "+contentType, func(t *testing.T) {
				whole := readFrom(t, start(t, data), contentType, checkpoint.Position{})
				require.Len(t, whole, 18) // 24 rows in batches of 4, 3 times
				for i, batch := range whole {
					position := batch.end
					require.Equal(t, i/6, position.Epoch)
					require.Equal(t, whole[i+1:], append([]seen{}, readFrom(t, start(t, data), contentType, position)...), "after batch %d", i)
					position.Bytes = 0 // not known
					require.Equal(t, whole[i+1:], append([]seen{}, readFrom(t, start(t, data), contentType, position)...), "after batch %d", i)
				}
			})
		}
	}
}

// The place is that in the whole epoch, and in its file.
func TestErrorsAfterResumingSayWhereTheyAre(t *testing.T) {
	parts := [][]byte{stream(t, 10, 3, false), stream(t, 10, 3, false)}
	parts[1][5*len(parts[1])/10] ^= 0xff // the magic number of its record 5
	source := platforms["file"](t, parts)
	errorFrom := func(from checkpoint.Position) (err error) {
		c := &channel.Channel{Name: "train", Source: source}
		for _, err = range algorithms.BatchesFrom(t.Context(), c, batching(3, 4), from) {
		}
		return err
	}
	want := errorFrom(checkpoint.Position{})
	require.ErrorContains(t, want, "record 15 at byte ")
	size := int64(len(parts[0])) / 10
	for _, records := range []int64{4, 12} {
		require.EqualError(t, errorFrom(checkpoint.Position{Records: records, Bytes: records * size}), want.Error())
		require.EqualError(t, errorFrom(checkpoint.Position{Records: records}), want.Error())
	}
}

func TestAPositionThatIsNotInTheDataIsAnError(t *testing.T) {
	data := stream(t, 10, 3, false)
	for want, from := range map[string]checkpoint.Position{
		"channel train, epoch 0: going on at record 11: the epoch has 10: unexpected EOF": {Records: 11},
		"channel train, epoch 0: going on at record 11, byte 1000000: unexpected EOF":     {Records: 11, Bytes: 1e6},
		"channel train, epoch 0: there is no position at record -1, byte 0":               {Records: -1},
		"channel train, epoch 2: there is no position at record 1, byte -1":               {Epoch: 2, Records: 1, Bytes: -1},
		"bad magic number": {Records: 3, Bytes: 50},
	} {
		var err error
		for _, err = range algorithms.BatchesFrom(t.Context(), train(data), batching(3, 4), from) {
		}
		require.ErrorContains(t, err, want)
		require.Equal(t, 1, strings.Count(err.Error(), "channel train"), err)
	}
	c := train(data)
	for range 2 {
		for _, err := range algorithms.Batches(t.Context(), c, batching(3, 4)) {
			require.NoError(t, err)
		}
	}
	for _, err := range algorithms.BatchesFrom(t.Context(), c, batching(3, 4), checkpoint.Position{Epoch: 1, Records: 4}) {
		require.EqualError(t, err, "channel train, epoch 2: the position to go on from is in epoch 1, which is over")
	}
}

func TestResumingEndsWithItsContext(t *testing.T) {
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &channel.Channel{Name: "train", Source: sourceFunc(func(context.Context) io.Reader {
		return readerFunc(func(p []byte) (int, error) {
			cancel(cause)
			return copy(p, stream(t, 1, 3, false)), nil // without end
		})
	})}
	for _, err := range algorithms.BatchesFrom(ctx, c, batching(3, 4), checkpoint.Position{Records: 1 << 40}) {
		require.ErrorIs(t, err, cause)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
