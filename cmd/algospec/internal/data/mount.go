package data

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
)

// Mount shows objects as files.
type Mount struct {
	origin
	Dir         string       `arg:"" type:"path" help:"Where to: a directory that exists."`
	Cache       console.Size `default:"256MiB" placeholder:"SIZE" help:"Memory for what has been fetched (${default})."`
	Concurrency int          `default:"32" placeholder:"N" help:"Requests at a time that readers wait for, and as many that read ahead (${default})."`
	AllowOther  bool         `help:"Let other users read the files."`
	Stats       bool         `short:"v" help:"Tell at the end how it went, on stderr."`
}

// Help tells what the flags don't.
func (c *Mount) Help() string {
	return `The files are there until Ctrl-C, SIGTERM or SIGHUP, read-only, as they were listed at the start. A reader
whom S3 fails gets an input/output error; the reason is told on stderr, and at the end by the exit status.

    algospec data mount --cache 1GiB s3://bucket/train/ /mnt/train

The URI ends in a slash or is the whole name of a folder or an object. It takes Linux, /dev/fuse, and
either root or fusermount3.`
}

// Validate checks what the types do not.
func (c *Mount) Validate() error { return atLeast(1, "--concurrency", c.Concurrency) }

// Run carries out the command. Being interrupted is how it ends well.
func (c *Mount) Run(ctx context.Context, streams console.Streams) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	objects, err := s3stream.ListTree(ctx, client, c.URI)
	if err != nil {
		return err
	}
	files, err := s3stream.LayoutFastFile(c.URI, objects)
	if err != nil {
		return err
	}
	if err := detachDead(c.Dir); err != nil {
		return err
	}
	ctx, stop := outlast(ctx)
	defer stop()
	logger := console.NewProgress(streams, "", 0).Logger()
	// It is taken away below, where it is seen how that goes.
	view, err := fastfile.Mount(context.WithoutCancel(ctx), c.Dir, client, files, fastfile.Options{
		Cache: int64(c.Cache), Concurrency: c.Concurrency, AllowOther: c.AllowOther,
		Stream: s3stream.Options{Logger: logger},
	})
	if err != nil {
		return err
	}
	count, bytes := total(files)
	fmt.Fprintf(streams.Out, "%s is mounted on %s: %s, %s; Ctrl-C unmounts it\n", console.Printable(c.URI),
		console.Printable(c.Dir), console.Count(count, "file", "files"), console.Bytes(bytes))
	serve(ctx, view, logger)
	err = view.Close()
	if err != nil {
		logger.Error("the files could not be taken away", "error", err)
	}
	if c.Stats {
		fmt.Fprintln(streams.Err, served(view.Stats()))
	}
	if err != nil || view.Err() != nil {
		return console.ErrTold
	}
	return nil
}

// outlast keeps the process from dying with its terminal, or with who read its output, which would
// leave a dead mount. The end of the terminal ends the context instead.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	if signal.Ignored(syscall.SIGHUP) { // nohup
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// detachDead takes away what a process that was killed has left on dir.
func detachDead(dir string) error {
	// A Stat may be answered from the kernel's cache; a named pipe is not waited for.
	opened, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENOTCONN) {
		return fastfile.Detach(dir)
	}
	opened.Close()
	return nil // what else may be wrong is found when it is mounted
}

// serve waits for the end, ctx's or of the view itself, and tells of the first error that a reader gets.
func serve(ctx context.Context, view *fastfile.FS, logger *slog.Logger) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	told := false
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-view.Done():
			ended = true
		case <-ticker.C:
		}
		if err := view.Err(); err != nil && !told {
			logger.Error("a reader got an input/output error", "error", err)
			told = true
		}
	}
}

// served words what a view has done.
func served(s fastfile.Stats) string {
	return fmt.Sprintf("%s opened, %s read; %s fetched in %s; readers waited %s", console.Count(s.Opens, "file", "files"),
		console.Bytes(s.BytesRead), console.Bytes(s.BytesFetched), console.Count(s.Requests, "request", "requests"), console.Seconds(s.Waited))
}
