package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// Show shows headers.
type Show struct {
	inputs
	JSON bool `name:"json" help:"Show one JSON object a line."`
}

// Run carries out the command.
func (c *Show) Run(ctx context.Context, streams console.Streams) error {
	damaged := false
	for s, err := range c.snapshots(ctx, streams, false) {
		switch {
		case err != nil:
			return err
		case s.err != nil:
			damaged = true
			fmt.Fprintln(streams.Out, "damaged:", s.at(s.err.Error()))
		case c.JSON:
			err = json.NewEncoder(streams.Out).Encode(s.Snapshot)
		default:
			show(streams.Out, s)
		}
		if err != nil {
			return err
		}
	}
	if damaged {
		return console.ErrTold
	}
	return nil
}

// show shows a header for people, a fact a line.
func show(out io.Writer, s *snapshot) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "  %-16s %s\n", console.Printable(name), console.Harmless(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintln(out, console.Printable(s.name))
	line("step", "%d", s.Step)
	line("saved", "%s, %s", s.Time.Format(time.RFC3339), ageOf(s))
	by := fmt.Sprintf("%s, rank %d of %d", s.Host, s.Rank, s.Size)
	if s.LeaderOnly {
		by += ", for all hosts"
	}
	line("by", "%s", by)
	line("snapshot", "number %d of the host", s.Serial)
	if s.Run != "" {
		line("run", "%s", s.Run)
	}
	line("state", "%s bytes", humanize.Comma(s.state))
	for _, p := range s.Positions {
		line("position", "channel %s, epoch %d, %s read", p.Channel, p.Epoch, console.Count(p.Records, "record", "records"))
	}
	if len(s.Random) > 0 {
		line("random state", "%s", console.Count(int64(len(s.Random)), "byte", "bytes"))
	}
	for _, key := range slices.Sorted(maps.Keys(s.HyperParameters)) {
		line("hyperparameter", "%s = %q", key, s.HyperParameters[key])
	}
	for _, key := range slices.Sorted(maps.Keys(s.Meta)) {
		line("meta", "%s = %q", key, s.Meta[key])
	}
}
