package checkpoint

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// Ls lists snapshots.
type Ls struct {
	inputs
	Verify bool `negatable:"" default:"true" help:"Read whole snapshots to tell whether they are whole."`
}

// Help tells what the flags don't.
func (c *Ls) Help() string {
	return `The size is the state's. Without verifying, only the beginning of each file is read, which is quick in S3.

    algospec checkpoint ls /opt/ml/checkpoints
    algospec checkpoint ls --no-verify s3://bucket/my-job/checkpoints/`
}

// Run carries out the command. Damage is told in the output, and no failure.
func (c *Ls) Run(ctx context.Context, streams console.Streams) error {
	out := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "STEP\tHOST\tSIZE\tAGE\tFILE\tVERIFIED")
	for s, err := range c.snapshots(ctx, streams, c.Verify) {
		if err != nil {
			return err
		}
		step, host, size, age := "-", "-", "-", "-"
		if s.headed {
			step, host, size, age = fmt.Sprint(s.Step), console.Printable(s.Host), console.Bytes(s.state), ageOf(s)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", step, host, size, age, console.Printable(s.name), c.verdict(s))
	}
	return out.Flush()
}

func (c *Ls) verdict(s *snapshot) string {
	switch {
	case s.err != nil:
		return "no: " + console.Printable(s.err.Error())
	case !c.Verify:
		return "-"
	}
	return "yes"
}

func ageOf(s *snapshot) string { return humanize.RelTime(s.Time, time.Now(), "ago", "from now") }
