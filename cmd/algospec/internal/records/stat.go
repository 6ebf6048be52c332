package records

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/recordio/recordpb"
)

// Stat tells statistics.
type Stat struct {
	Inputs []string `arg:"" name:"input" help:"${inputs}"`
	JSON   bool     `name:"json" help:"Tell all, as one JSON object."`
	All    bool     `help:"Tell all columns, however many."`
	Labels int      `default:"50" placeholder:"N" help:"Count each label if there are no more than N different ones (${default})."`
	framing
}

// Validate checks what the types do not.
func (c *Stat) Validate() error {
	if c.Labels < 1 {
		return fmt.Errorf("--labels %d: not a positive count", c.Labels)
	}
	return nil
}

// statistics are those of the whole input.
type statistics struct {
	parts, records int64
	bytes          int64 // of the frames, decompressed
	features       named
	label          named
	budget         int // columns that may still be tracked
	bad            findings
}

// Run carries out the command. Records that are malformed or do not fit are left out, and an error.
func (c *Stat) Run(ctx context.Context, streams console.Streams) error {
	in, err := open(ctx, streams, c.framing, c.Inputs)
	if err != nil {
		return err
	}
	in.show(streams, "reading")
	s := &statistics{
		parts:    int64(len(in.parts)),
		features: named{byName: map[string]*columns{}},
		label:    named{byName: map[string]*columns{}, labels: c.Labels},
		budget:   maxColumns,
	}
	err = s.gather(ctx, in)
	in.progress.Done()
	if ctx.Err() != nil {
		return err
	}
	// What comes before damage is told.
	out := bufio.NewWriter(streams.Out)
	if c.JSON {
		err = errors.Join(err, json.NewEncoder(out).Encode(s.asJSON()))
	} else {
		s.tell(out, c.All)
	}
	return errors.Join(err, out.Flush(), s.bad.err(int(s.records)))
}

// gather takes in all records.
func (s *statistics) gather(ctx context.Context, in *input) error {
	defer s.finish()
	var rec recordpb.Record
	for r, err := range in.records(ctx) {
		if err != nil {
			return err
		}
		s.records++
		s.bytes += int64(len(r.payload))
		if err := check(r.payload, &rec); err != nil {
			s.bad.add(r.at(err))
			continue
		}
		s.budget = s.features.add(rec.GetFeatures(), s.budget)
		s.budget = s.label.add(rec.GetLabel(), s.budget)
	}
	return nil
}

// finish ends the gathering.
func (s *statistics) finish() {
	for _, n := range []named{s.features, s.label} {
		for _, c := range n.byName {
			c.finish()
		}
	}
}

// check decodes a record whose values must fit.
func check(payload []byte, rec *recordpb.Record) error {
	if err := decode(payload, rec); err != nil {
		return err
	}
	return cmp.Or(misfit("feature", rec.GetFeatures()), misfit("label", rec.GetLabel()))
}

// misfit returns what does not fit in the values of a kind, in the order of their names.
func misfit(kind string, values map[string]*recordpb.Value) error {
	var first string
	var problem error
	for name, value := range values {
		if problem != nil && name > first {
			continue
		}
		if err := tensorOf(value).misfit(); err != nil {
			first, problem = name, fmt.Errorf("%s %s: %w", kind, shortText(name), err)
		}
	}
	return problem
}

// tell writes the statistics for people.
func (s *statistics) tell(out io.Writer, all bool) {
	fmt.Fprintf(out, "%s, %s of records, in %s\n", records(s.records), console.Size(s.bytes), console.Count(s.parts, "part", "parts"))
	for _, kind := range []struct {
		name string
		named
	}{{"feature", s.features}, {"label", s.label}} {
		for _, name := range slices.Sorted(maps.Keys(kind.byName)) {
			fmt.Fprintf(out, "\n%s %s: ", kind.name, shortText(name))
			kind.byName[name].tell(out, all)
		}
		if kind.others > 0 {
			fmt.Fprintf(out, "\n%s under other names\n", console.Count(kind.others, kind.name, kind.name+"s"))
		}
	}
}
