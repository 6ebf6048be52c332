package records

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

// Verify checks frames and records.
type Verify struct {
	Inputs  []string `arg:"" name:"input" help:"${inputs}"`
	Salvage string   `placeholder:"OUT" type:"path" help:"Write the records that survive to this file."`
	framing
}

// A verdict is what is found in the whole input, or in a part of it.
type verdict struct {
	good    int64 // records
	damages int64 // places
	first   error // of a part
	skipped int64 // bytes that belong to no record
}

func (v *verdict) add(o verdict) {
	v.good += o.good
	v.damages += o.damages
	v.skipped += o.skipped
}

// Run carries out the command. Damage is told in the output.
func (c *Verify) Run(ctx context.Context, streams console.Streams) error {
	in, err := open(ctx, streams, c.framing, c.Inputs)
	if err != nil {
		return err
	}
	in.show(streams, "verifying")
	var whole verdict
	if c.Salvage == "" {
		whole, err = c.verify(ctx, in, streams.Out, nil)
	} else {
		err = atomicfile.Write(c.Salvage, content(func(w io.Writer) error {
			out := recordio.NewWriter(w)
			whole, err = c.verify(ctx, in, streams.Out, out.Write)
			return errors.Join(err, out.Flush())
		}))
	}
	in.progress.Done()
	if err != nil {
		return err
	}
	if whole.damages == 0 {
		_, err := fmt.Fprintf(streams.Out, "good: %s\n", records(whole.good))
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s survive; damage in %s, %s bytes lost\n",
		records(whole.good), places(whole.damages), humanize.Comma(whole.skipped))
	if err != nil {
		return err
	}
	return console.ErrTold
}

// verify checks all parts, tells where the damage of each begins, and hands the records that
// survive to keep, unless that is nil.
func (c *Verify) verify(ctx context.Context, in *input, out io.Writer, keep func([]byte) error) (whole verdict, err error) {
	for s, err := range in.streams(ctx) {
		if err != nil {
			return whole, err
		}
		part, err := c.verifyPart(s, keep)
		if err != nil {
			return whole, err
		}
		if part.damages > 0 {
			if _, err := fmt.Fprintf(out, "damaged: %v\n", part.first); err != nil {
				return whole, err
			}
		}
		whole.add(part)
	}
	return whole, nil
}

func (c *Verify) verifyPart(s stream, keep func([]byte) error) (v verdict, err error) {
	var rec recordpb.Record
	salvager := recordio.NewSalvager(s)
	salvager.Multipart, salvager.MaxSize = c.multipart(), int(c.MaxRecord)
	salvager.Check = func(payload []byte) error { return check(payload, &rec) }
	defer func() { v.skipped = salvager.Skipped() }()
	for {
		payload, err := salvager.Next()
		var damage *recordio.FormatError
		switch {
		case err == io.EOF:
			return v, nil
		case errors.As(err, &damage):
			v.damaged(s.at(err))
		case errors.Is(err, errGzip): // what was compressed is lost from here on
			v.damaged(s.at(fmt.Errorf("after %s: %w", records(v.good), err)))
			return v, nil
		case err != nil:
			return v, s.at(err)
		default:
			v.good++
			if keep != nil {
				if err := keep(payload); err != nil {
					return v, err
				}
			}
		}
	}
}

func (v *verdict) damaged(err error) {
	v.damages++
	if v.first == nil {
		v.first = err
	}
}

// records words a count of records.
func records(n int64) string { return console.Count(n, "record", "records") }

func places(n int64) string { return console.Count(n, "place", "places") }

// content is what a file shall hold, as a function that writes it.
type content func(io.Writer) error

// WriteTo writes the content. It does not count.
func (c content) WriteTo(w io.Writer) (int64, error) { return 0, c(w) }
