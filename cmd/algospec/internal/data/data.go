// Package data is the command group "algospec data": it brings S3 objects here in the ways of a
// training job's channels, without a job: as a stream, as files, and as files that are fetched when
// they are read.
package data

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/cmd/algospec/internal/s3client"
)

// Group is the command line of the group.
type Group struct {
	Cat      Cat      `cmd:"" help:"Stream what a channel in Pipe mode delivers to stdout, a file or a named pipe."`
	List     List     `cmd:"" help:"List the objects that a channel delivers, in their order."`
	Download Download `cmd:"" help:"Copy objects into a directory, as for a channel in File mode."`
	Mount    Mount    `cmd:"" help:"Show objects as files that are fetched when they are read, as for a channel in FastFile mode (Linux)."`
}

// origin says where the data are.
type origin struct {
	URI       string `arg:"" name:"uri" help:"s3://bucket/prefix: all objects whose keys start with the prefix."`
	Anonymous bool   `help:"Don't sign requests, as for public buckets."`
}

func (o origin) client(ctx context.Context) (*s3.Client, error) {
	return s3client.New(ctx, s3client.Options{Anonymous: o.Anonymous})
}

// atLeast returns the error of a flag whose value is less.
func atLeast(least int, flag string, value int) error {
	if value < least {
		return fmt.Errorf("%s %d: want at least %d", flag, value, least)
	}
	return nil
}
