package checkpoint

import (
	"context"
	"fmt"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// Verify reads whole snapshots.
type Verify struct{ inputs }

// Run carries out the command. Damage is told in the output.
func (c *Verify) Run(ctx context.Context, streams console.Streams) error {
	var whole, damaged int64
	for s, err := range c.snapshots(ctx, streams, true) {
		if err != nil {
			return err
		}
		if s.err == nil {
			whole++
			continue
		}
		damaged++
		if _, err := fmt.Fprintln(streams.Out, "damaged:", s.at(console.Harmless(s.err.Error()))); err != nil {
			return err
		}
	}
	if damaged == 0 {
		_, err := fmt.Fprintf(streams.Out, "whole: %s\n", snapshots(whole))
		return err
	}
	if _, err := fmt.Fprintf(streams.Out, "%s whole, %d damaged\n", snapshots(whole), damaged); err != nil {
		return err
	}
	return console.ErrTold
}

func snapshots(n int64) string { return console.Count(n, "snapshot", "snapshots") }
