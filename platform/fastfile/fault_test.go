package fastfile_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// onGets has f look at each GET of an object, with its number from 1.
func (w *world) onGets(f func(n int64, r *http.Request) *s3test.Fault) {
	var gets atomic.Int64
	w.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/data/train/") {
			return nil
		}
		return f(gets.Add(1), r)
	})
}

func TestPassingFaultsHeal(t *testing.T) {
	for name, fault := range map[string]s3test.Fault{
		"an internal error": {Status: 500, Code: "InternalError"},
		"SlowDown":          {Status: 503, Code: "SlowDown"},
		"a body cut off":    {At: 100_000, Cut: true},
		"a body that stops": {At: 100_000, Stall: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(t, "f", 3<<20)
			opts := fastfile.Options{Stream: hasty}
			if fault.Stall {
				opts.Stream.Idle = time.Second
			}
			each(t, w, opts, func(t *testing.T, f *fastfile.FS, files fs.FS) {
				w.onGets(func(n int64, _ *http.Request) *s3test.Fault {
					if n == 1 {
						return &fault
					}
					return nil
				})
				got, err := fs.ReadFile(files, "f")
				require.NoError(t, err)
				hasSame(t, w.bytes["f"], got)
				require.NoError(t, f.Err())
			})
		})
	}
}

// isFailure checks that a read failed as it must: in the process with all
// there is to say, through the kernel with EIO, and that the FS kept it.
func isFailure(t *testing.T, f *fastfile.FS, err error) *s3stream.ObjectError {
	t.Helper()
	require.Error(t, err)
	object, is := errors.AsType[*s3stream.ObjectError](err)
	require.True(t, is || errors.Is(err, syscall.EIO), "%v", err)
	kept, is := errors.AsType[*s3stream.ObjectError](f.Err())
	require.True(t, is, "%v", f.Err())
	if object != nil {
		require.Equal(t, object, kept)
	}
	return kept
}

func TestALastingFaultFailsTheReaderAndIsKept(t *testing.T) {
	w := newWorld(t)
	w.put(t, "good", 100)
	w.put(t, "bad", 100_000)
	each(t, w, fastfile.Options{Stream: hasty}, func(t *testing.T, f *fastfile.FS, files fs.FS) {
		w.onGets(func(_ int64, r *http.Request) *s3test.Fault {
			switch {
			case strings.HasSuffix(r.URL.Path, "/good"):
				return nil
			case r.Header.Get("Range") == "":
				return &s3test.Fault{At: 70_000, Cut: true}
			}
			return &s3test.Fault{Status: 500, Code: "InternalError"}
		})
		_, err := fs.ReadFile(files, "bad")
		kept := isFailure(t, f, err)
		require.Equal(t, "train/bad", kept.Key)
		require.EqualValues(t, 70_000, kept.Offset)
		require.False(t, kept.ClientError())
		got, err := fs.ReadFile(files, "good")
		require.NoError(t, err)
		require.Equal(t, w.bytes["good"], got)

		w.SetFault(nil) // what failed is asked for again
		got, err = fs.ReadFile(files, "bad")
		require.NoError(t, err)
		hasSame(t, w.bytes["bad"], got)
		require.Same(t, kept, f.Err())
	})
}

// New bytes must not follow old ones, whatever is in which cache.
func TestAnObjectThatIsReplacedInTheMiddleFailsItsReader(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			w := newWorld(t)
			w.put(t, "f", 8<<20)
			f, files := shape.open(t, w, fastfile.Options{ReadAhead: 1 << 20})
			in, old := openFile(t, files, "f"), w.bytes["f"]
			head := make([]byte, 1<<20)
			_, err := io.ReadFull(in, head)
			require.NoError(t, err)
			require.NoError(t, w.Put("data", "train/f", bytes.NewReader(make([]byte, 8<<20))))
			rest, err := io.ReadAll(in)
			kept := isFailure(t, f, err)
			require.ErrorIs(t, kept, s3stream.ErrChanged)
			require.True(t, kept.ClientError())
			hasSame(t, old[:len(head)+len(rest)], append(head, rest...))
		})
	}
}

func TestAnObjectThatIsGoneFailsItsReader(t *testing.T) {
	w := newWorld(t)
	f, err := fastfile.New(t.Context(), w.Client(), []s3stream.File{
		{Path: "f", Object: s3stream.Object{Bucket: "data", Key: "gone", ETag: `"x"`, Size: 10}},
	}, fastfile.Options{})
	require.NoError(t, err)
	defer f.Close()
	_, err = f.ReadFile("f")
	require.ErrorIs(t, isFailure(t, f, err), s3stream.ErrVanished)
}

// stall has all requests wait for ever and returns what is sent to when the
// first does.
func (w *world) stall() <-chan struct{} {
	stalled := make(chan struct{}, 1000)
	w.onGets(func(int64, *http.Request) *s3test.Fault {
		stalled <- struct{}{}
		return &s3test.Fault{Stall: true}
	})
	return stalled
}

func TestReadersThatWaitFailWhenTheFileSystemEnds(t *testing.T) {
	cause := errors.New("the job was stopped")
	for name, end := range map[string]func(f *fastfile.FS, cancel context.CancelCauseFunc){
		"closed":   func(f *fastfile.FS, _ context.CancelCauseFunc) { f.Close() },
		"canceled": func(_ *fastfile.FS, cancel context.CancelCauseFunc) { cancel(cause) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(t, "f", 8<<20)
			stalled := w.stall()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			f, err := fastfile.New(ctx, w.Client(), w.list(t), fastfile.Options{})
			require.NoError(t, err)
			read := make(chan error)
			go func() {
				_, err := f.ReadFile("f")
				read <- err
			}()
			<-stalled
			end(f, cancel)
			err = <-read
			if name == "canceled" {
				require.ErrorIs(t, err, cause)
			} else {
				require.ErrorIs(t, err, fs.ErrClosed)
			}
			require.NoError(t, f.Err(), "being closed is no failure")
			require.NoError(t, f.Close())
			_, err = f.ReadFile("f")
			require.ErrorIs(t, err, fs.ErrClosed)
		})
	}
}

// Closing a file ends what was asked for ahead, so that many files opened and
// closed do not add up.
func TestClosingAFileEndsItsReadAhead(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 8<<20)
	f := w.open(t, fastfile.Options{})
	begun, ended := make(chan struct{}, 10), make(chan struct{}, 10)
	w.onGets(func(_ int64, r *http.Request) *s3test.Fault {
		if strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
			return nil
		}
		go func() {
			<-r.Context().Done()
			ended <- struct{}{}
		}()
		begun <- struct{}{}
		return &s3test.Fault{Stall: true}
	})
	in := openFile(t, f, "f")
	_, err := io.ReadFull(in, make([]byte, 900<<10))
	require.NoError(t, err)
	<-begun
	require.NoError(t, in.Close())
	<-ended
}
