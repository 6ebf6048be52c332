//go:build unix

package channel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

// serve plays the platform: it makes the pipes path_0, path_1, … one after the other and writes
// data into each. A reader that goes early ends the epoch. The Source reads them.
func serve(t *testing.T, path string, epochs int, data []byte) channel.Source {
	t.Helper()
	came, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := range epochs {
			if err := serveEpoch(fmt.Sprintf("%s_%d", path, n), data, came); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	t.Cleanup(func() {
		if !t.Failed() {
			require.NoError(t, <-done)
		}
	})
	return served{channel.FIFO{Path: path}, came}
}

// served is a FIFO whose Open returns when the writer has come. A writer that opens the pipe when
// its reader has come and gone would wait for ever; package platform knows how to avoid that.
type served struct {
	channel.FIFO
	came chan struct{}
}

func (s served) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	r, err := s.FIFO.Open(ctx, epoch)
	if err == nil {
		<-s.came
	}
	return r, err
}

func serveEpoch(path string, data []byte, came chan<- struct{}) error {
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		return err
	}
	defer os.Remove(path)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	came <- struct{}{}
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

// awaitGoroutine returns when some goroutine is in a state, such as "IO wait", inside a function.
func awaitGoroutine(state, function string) {
	stacks := make([]byte, 1<<20)
	for {
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			header, calls, _ := strings.Cut(stack, "\n")
			if strings.Contains(header, "["+state) && strings.Contains(calls, function) {
				return
			}
		}
		runtime.Gosched()
	}
}

// "No writer yet" reads as 0 bytes on a pipe opened without blocking: it must not be taken for
// the end, and neither must a writer that has nothing to say.
func TestAReaderWaitsForTheWriterAndForData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train")
	require.NoError(t, syscall.Mkfifo(path+"_0", 0o666))
	r := openFIFO(t, t.Context(), path)
	got := make(chan string, 100)
	go func() {
		defer close(got)
		buf := make([]byte, 100)
		for {
			n, err := r.Read(buf)
			got <- fmt.Sprintf("%s %v", buf[:n], err)
			if err != nil {
				return
			}
		}
	}()
	reads := func() { awaitGoroutine("IO wait", "fifoReader") }
	reads()
	w, err := os.OpenFile(path+"_0", os.O_WRONLY, 0)
	require.NoError(t, err)
	reads()
	_, err = w.WriteString("late")
	require.NoError(t, err)
	require.Equal(t, "late <nil>", <-got)
	reads()
	_, err = w.WriteString("data")
	require.NoError(t, err)
	require.Equal(t, "data <nil>", <-got)
	reads()
	require.NoError(t, w.Close())
	require.Equal(t, " EOF", <-got)
}

func TestAWriterThatComesAndGoesIsAnEmptyEpoch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train")
	r, err := serve(t, path, 1, nil).Open(t.Context(), 0)
	require.NoError(t, err)
	defer r.Close()
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Empty(t, data)
}

func TestAReaderIsCancelledWhileItWaits(t *testing.T) {
	for name, decorate := range map[string]func(channel.Source) channel.Source{
		"FIFO":      func(src channel.Source) channel.Source { return src },
		"Gzip":      channel.Gzip,
		"ReadAhead": func(src channel.Source) channel.Source { return channel.ReadAhead(src, 10) },
		"Concat":    func(src channel.Source) channel.Source { return channel.Concat{Sources: []channel.Source{src}} },
	} {
		stop := errors.New("stop")
		cancelOnce := func(t *testing.T, state, function string) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				awaitGoroutine(state, function)
				cancel(stop)
			}()
			return ctx
		}
		// read opens and reads, and returns what either says.
		read := func(ctx context.Context, path string) error {
			r, err := decorate(channel.FIFO{Path: path}).Open(ctx, 0)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		}
		t.Run(name+" for the file", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "train")
			require.Equal(t, stop, read(cancelOnce(t, "select", "FIFO.await"), path))
		})
		t.Run(name+" for the writer", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "train")
			require.NoError(t, syscall.Mkfifo(path+"_0", 0o666))
			require.Equal(t, stop, read(cancelOnce(t, "IO wait", "awaitWriter"), path))
		})
		t.Run(name+" for data", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "train")
			require.NoError(t, syscall.Mkfifo(path+"_0", 0o666))
			go func() {
				w, err := os.OpenFile(path+"_0", os.O_WRONLY, 0)
				if err == nil {
					defer w.Close()
					_, err = w.WriteString("\x1f\x8b") // gzip's magic number, among other things
				}
				if err != nil {
					t.Error(err)
				}
				<-t.Context().Done()
			}()
			require.Equal(t, stop, read(cancelOnce(t, "IO wait", "os.(*File).Read"), path))
		})
	}
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
