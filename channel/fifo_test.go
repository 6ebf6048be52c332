//go:build unix

package channel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

// serve plays the platform: it makes the pipes path_0, path_1, … one after the other and writes
// data into each. A reader that goes early ends the epoch.
func serve(t *testing.T, path string, epochs int, data []byte) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		for n := range epochs {
			if err := serveEpoch(fmt.Sprintf("%s_%d", path, n), data); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	t.Cleanup(func() { require.NoError(t, <-done) })
}

func serveEpoch(path string, data []byte) error {
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		return err
	}
	defer os.Remove(path)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Write(data); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

func openFIFO(t *testing.T, ctx context.Context, path string) io.ReadCloser {
	t.Helper()
	r, err := channel.FIFO{Path: path}.Open(ctx, 0)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// "No writer yet" reads as 0 bytes on a pipe opened without blocking: it must not be taken for
// the end.
func TestAReaderWaitsForTheWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train")
	require.NoError(t, syscall.Mkfifo(path+"_0", 0o666))
	r := openFIFO(t, t.Context(), path)
	got := make(chan string, 1)
	go func() {
		data, err := io.ReadAll(r)
		got <- fmt.Sprintf("%s %v", data, err)
	}()
	select {
	case early := <-got:
		t.Fatalf("read %q before the writer came", early)
	case <-time.After(30 * time.Millisecond):
	}
	w, err := os.OpenFile(path+"_0", os.O_WRONLY, 0)
	require.NoError(t, err)
	select {
	case early := <-got:
		t.Fatalf("read %q from a writer that had sent nothing", early)
	case <-time.After(30 * time.Millisecond):
	}
	_, err = w.WriteString("late ")
	require.NoError(t, err)
	time.Sleep(5 * time.Millisecond) // an idle writer is not the end either
	_, err = w.WriteString("data")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, "late data <nil>", <-got)
}

func TestAWriterThatComesAndGoesIsAnEmptyEpoch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train")
	serve(t, path, 1, nil)
	data, err := io.ReadAll(openFIFO(t, t.Context(), path))
	require.NoError(t, err)
	require.Empty(t, data)
}

func TestAReaderIsCancelledWhileItWaits(t *testing.T) {
	stop := errors.New("stop")
	cancelSoon := func() context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
		return ctx
	}
	t.Run("for the file", func(t *testing.T) {
		_, err := channel.FIFO{Path: filepath.Join(t.TempDir(), "train")}.Open(cancelSoon(), 0)
		require.Equal(t, stop, err)
	})
	t.Run("for the writer", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "train")
		require.NoError(t, syscall.Mkfifo(path+"_0", 0o666))
		_, err := openFIFO(t, cancelSoon(), path).Read(make([]byte, 1))
		require.Equal(t, stop, err)
	})
	t.Run("for data", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "train")
		require.NoError(t, syscall.Mkfifo(path+"_0", 0o666))
		r := openFIFO(t, cancelSoon(), path)
		w, err := os.OpenFile(path+"_0", os.O_WRONLY, 0)
		require.NoError(t, err)
		defer w.Close()
		_, err = w.WriteString("x")
		require.NoError(t, err)
		n, err := r.Read(make([]byte, 10))
		require.Equal(t, 1, n)
		require.NoError(t, err)
		_, err = r.Read(make([]byte, 10))
		require.Equal(t, stop, err)
	})
}

func TestAMissingPipeIsReportedByPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train")
	_, err := channel.FIFO{Path: path, Wait: time.Millisecond}.Open(t.Context(), 3)
	require.EqualError(t, err, "no pipe "+path+"_3 after 1ms")
}

func TestAFileWhereThePipeShouldBeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train")
	require.NoError(t, os.WriteFile(path+"_0", []byte("x"), 0o644))
	_, err := channel.FIFO{Path: path}.Open(t.Context(), 0)
	require.EqualError(t, err, path+"_0 is not a named pipe")
}

func TestAFailedOpenDoesNotCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train")
	c := &channel.Channel{Name: "train", Source: channel.FIFO{Path: path, Wait: time.Millisecond}}
	_, err := c.Open(t.Context())
	require.ErrorContains(t, err, "channel train, epoch 0: no pipe")
	require.NoError(t, syscall.Mkfifo(path+"_0", 0o666))
	epoch, err := c.Open(t.Context())
	require.NoError(t, err)
	require.Zero(t, epoch.Number)
	require.NoError(t, epoch.Close())
}
