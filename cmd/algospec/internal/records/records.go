// Package records is the command group "algospec records": it looks into RecordIO-protobuf data,
// and checks, splits and converts them. All commands read their input as a stream: memory grows
// with the longest record, never with the data.
package records

import (
	"github.com/alecthomas/kong"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/recordio"
)

// Group is the command line of the group.
type Group struct {
	Cat     Cat     `cmd:"" help:"Show records."`
	Stat    Stat    `cmd:"" help:"Tell statistics of each column, and count labels."`
	Verify  Verify  `cmd:"" help:"Check every frame and every record; tell and salvage what survives of damaged data."`
	Shard   Shard   `cmd:"" help:"Split into shards of equal row counts, with a manifest."`
	Convert Convert `cmd:"" help:"Convert between RecordIO-protobuf, CSV, LibSVM, JSON lines, .npy and .npz."`
}

// Limits are the values that help texts and defaults name.
var Limits = kong.Vars{
	"inputs":    "A file, a directory, s3://bucket/prefix, or - for stdin; compressed with gzip or not.",
	"maxRecord": "1GiB",
}

// framing says how frames are read.
type framing struct {
	Multipart string       `enum:"plain,dmlc" default:"plain" help:"How the parts of split records are joined: ${enum}. SageMaker's readers join them plain, MXNet's put the magic number back between them (dmlc)."`
	MaxRecord console.Size `default:"${maxRecord}" placeholder:"SIZE" help:"The longest record accepted (${default})."`
}

func (f framing) multipart() recordio.Multipart {
	if f.Multipart == "dmlc" {
		return recordio.DMLC
	}
	return recordio.Plain
}
