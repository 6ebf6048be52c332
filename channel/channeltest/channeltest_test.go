package channeltest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/channel/channeltest"
)

var data = bytes.Repeat([]byte("0123456789"), 100)

func want() (want [channeltest.Epochs][]byte) {
	for i := range want {
		want[i] = data
	}
	return want
}

// A flawed Source is Memory but for what stands in its fields.
type flawed struct {
	open  func(ctx context.Context, epoch int) (context.Context, error)
	read  func(ctx context.Context, r io.Reader, p []byte) (int, error)
	close func() error
}

func (f flawed) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	if f.open != nil {
		var err error
		if ctx, err = f.open(ctx, epoch); err != nil {
			return nil, err
		}
	}
	r, err := channel.Memory(data).Open(ctx, epoch)
	return &flawedReader{f, ctx, r}, err
}

type flawedReader struct {
	flawed
	ctx context.Context
	r   io.ReadCloser
}

func (f *flawedReader) Read(p []byte) (int, error) {
	if f.read != nil {
		return f.read(f.ctx, f.r, p)
	}
	return f.r.Read(p)
}

func (f *flawedReader) Close() error {
	if f.close != nil {
		return f.close()
	}
	return f.r.Close()
}

func TestAFlawlessSourcePasses(t *testing.T) {
	require.NoError(t, channeltest.TestSource(t.Context(), flawed{}, want()))
}

func TestEveryFlawIsFound(t *testing.T) {
	lost := make(chan struct{})
	defer close(lost)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	var left []*os.File
	defer func() {
		for _, file := range left {
			file.Close()
		}
	}()
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		src  flawed
		want string
	}{
		"opens no second epoch": {flawed{open: func(ctx context.Context, epoch int) (context.Context, error) {
			if epoch > 0 {
				return ctx, bad
			}
			return ctx, nil
		}}, "epoch 1, read whole again: open: channel test, epoch 1: bad"},
		"opens when it is cancelled": {flawed{open: func(ctx context.Context, epoch int) (context.Context, error) {
			if ctx.Err() != nil {
				return context.WithoutCancel(ctx), nil
			}
			return ctx, nil
		}}, "open after cancel: got <nil>"},
		"reads on when it is cancelled": {flawed{open: func(ctx context.Context, epoch int) (context.Context, error) {
			return context.WithoutCancel(ctx), nil
		}}, "read after cancel: got 1, <nil>"},
		"does not say that it is cancelled": {flawed{read: func(_ context.Context, r io.Reader, p []byte) (int, error) {
			n, err := r.Read(p)
			if err != nil && err != io.EOF {
				err = nil
			}
			return n, err
		}}, "read after cancel: got 0, <nil>"},
		"has a byte wrong": {flawed{read: func(_ context.Context, r io.Reader, p []byte) (int, error) {
			n, err := r.Read(p)
			if n > 0 {
				p[0]++
			}
			return n, err
		}}, "epoch 0, read whole: got 1000 bytes"},
		"has no end": {flawed{read: func(_ context.Context, r io.Reader, p []byte) (int, error) {
			n, err := r.Read(p)
			if err == io.EOF {
				err = bad
			}
			return n, err
		}}, "epoch 0, read whole: read: channel test, epoch 0: bad"},
		"closes with an error": {flawed{close: func() error { return bad }}, "epoch 0, read whole: channel test, epoch 0: bad"},
		"leaves a goroutine": {flawed{open: func(ctx context.Context, epoch int) (context.Context, error) {
			if epoch == 7 {
				go func() { <-lost }()
			}
			return ctx, nil
		}}, "a goroutine is left"},
		"leaves a descriptor": {flawed{open: func(ctx context.Context, epoch int) (context.Context, error) {
			if epoch == 7 {
				f, err := os.Open(file)
				left = append(left, f)
				return ctx, err
			}
			return ctx, nil
		}}, "of " + file},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "leaves a descriptor" && !canSeeDescriptors() {
				t.Skip("this system has no /proc/self/fd")
			}
			if strings.HasPrefix(name, "leaves ") {
				defer channeltest.WaitNot()()
			}
			require.ErrorContains(t, channeltest.TestSource(t.Context(), c.src, want()), c.want)
		})
	}
}

func canSeeDescriptors() bool {
	_, err := os.Stat("/proc/self/fdinfo")
	return err == nil
}
