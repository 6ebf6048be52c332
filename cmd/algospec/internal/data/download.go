package data

import (
	"context"
	"fmt"
	"time"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/s3stream"
)

// Download copies objects into a directory.
type Download struct {
	origin
	Dir         string `arg:"" type:"path" help:"Where to; it is made if need be. Other files there stay as they are."`
	Manifest    bool   `help:"The URI is that of a manifest (ManifestFile)."`
	Shard       shard  `placeholder:"I/N" help:"Take what host I of N gets, counted from 0 (ShardedByS3Key)."`
	Concurrency int    `default:"16" placeholder:"N" help:"Requests at a time (${default})."`
	Stats       bool   `short:"v" help:"Tell at the end how it went, on stderr. A terminal is always told."`
}

// Help tells what the flags don't.
func (c *Download) Help() string {
	return `A file has its name when it is whole. A download that was stopped or has failed goes on where it
stood when the same command is given again.

    algospec data download s3://bucket/train/ data/train

"algospec data list --paths" tells beforehand which files there will be.`
}

// Validate checks what the types do not.
func (c *Download) Validate() error { return atLeast(1, "--concurrency", c.Concurrency) }

// Run carries out the command.
func (c *Download) Run(ctx context.Context, streams console.Streams) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	files, err := files(ctx, client, c.URI, c.Manifest, c.Shard)
	if err != nil {
		return err
	}
	count, bytes := total(files)
	progress := console.NewProgress(streams, "downloading", bytes)
	before, there := int64(-1), int64(0) // bytes: of an earlier run, and now
	began := time.Now()
	err = filemode.Download(ctx, client, c.Dir, files, filemode.Options{
		Concurrency: c.Concurrency,
		Stream:      s3stream.Options{Logger: progress.Logger()},
		Progress: func(done, _ int64) {
			if before < 0 {
				before = done
			}
			there = done
			progress.Show(done)
		},
	})
	progress.Done()
	if c.Stats || progress.Shows() {
		text := rate(there-max(0, before), time.Since(began)) + "; " + console.Count(count, "file", "files")
		if before > 0 {
			text += ", " + console.Bytes(before) + " were there before"
		}
		fmt.Fprintln(streams.Err, text)
	}
	return err
}
