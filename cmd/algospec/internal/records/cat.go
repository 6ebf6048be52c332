package records

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/recordio/recordpb"
)

// Cat shows records.
type Cat struct {
	Inputs []string `arg:"" name:"input" help:"${inputs}"`
	N      *int     `name:"records" short:"n" placeholder:"N" help:"Show the first N records only."`
	JSON   bool     `name:"json" help:"Show everything, as JSON lines: NaN and infinities as text, bytes as base64."`
	framing
}

// Validate checks what the types do not.
func (c *Cat) Validate() error {
	if c.N != nil && *c.N < 0 {
		return fmt.Errorf("-n %d: not a count", *c.N)
	}
	return nil
}

// A printer shows records, whose decoding failed if err is not nil.
type printer interface {
	print(r record, rec *recordpb.Record, err error) error
}

// Run carries out the command.
func (c *Cat) Run(ctx context.Context, streams console.Streams) error {
	in, err := open(ctx, streams, c.framing, c.Inputs)
	if err != nil {
		return err
	}
	if !console.IsTerminal(streams.Out) {
		in.show(streams, "reading")
		defer in.progress.Done()
	}
	out := bufio.NewWriterSize(streams.Out, 64<<10)
	var to printer = &table{out: out, names: len(in.parts) > 1}
	if c.JSON {
		to = newJSONLines(out)
	}
	return flushed(out, c.copy(ctx, in, to))
}

// flushed returns err, of writing to out, and what the flush of out says besides.
func flushed(out *bufio.Writer, err error) error {
	if flush := out.Flush(); !errors.Is(err, flush) {
		return errors.Join(err, flush)
	}
	return err // a bufio.Writer says the same again
}

// copy shows the records. Payloads that are no Records are shown too, and are an error at the end.
func (c *Cat) copy(ctx context.Context, in *input, to printer) error {
	var bad findings
	var rec recordpb.Record
	shown := 0
	if c.N != nil && *c.N == 0 {
		return nil
	}
	for r, err := range in.records(ctx) {
		if err != nil {
			return err
		}
		problem := decode(r.payload, &rec)
		if problem != nil {
			bad.add(r.at(problem))
		}
		if err := to.print(r, &rec, problem); err != nil {
			return err
		}
		if shown++; c.N != nil && shown == *c.N {
			break
		}
	}
	return bad.err(shown)
}

// findings are the records with which something is wrong.
type findings struct {
	count int
	first error
}

func (f *findings) add(err error) {
	if f.count++; f.count == 1 {
		f.first = err
	}
}

// err returns nil where there are none.
func (f *findings) err(of int) error {
	switch f.count {
	case 0:
		return nil
	case 1:
		return f.first
	}
	return fmt.Errorf("%w (and %d more of %d records)", f.first, f.count-1, of)
}
