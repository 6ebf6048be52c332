// Package checkpoint is the command group "algospec checkpoint": it looks into the snapshots that
// training jobs have saved, in a directory or in S3, and proves them whole. It only reads.
package checkpoint

// Group is the command line of the group.
type Group struct {
	Ls     Ls     `cmd:"" help:"List snapshots."`
	Show   Show   `cmd:"" help:"Show what snapshots hold beside the state."`
	Verify Verify `cmd:"" help:"Read whole snapshots and tell which are damaged."`
}

// inputs say where the snapshots are.
type inputs struct {
	Inputs []string `arg:"" name:"input" help:"A directory, a file, or s3://bucket/prefix."`
}
