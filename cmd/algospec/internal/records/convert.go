package records

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/convert"
)

// Convert converts tables of numbers from one format to another.
type Convert struct {
	In         string `arg:"" help:"${inputs}"`
	Out        string `arg:"" help:"A file, compressed with gzip if its name ends in .gz, or - for stdout."`
	From       string `placeholder:"FORMAT" help:"Format of the input: pbr, csv, libsvm, jsonl, npy, npz, or a content type. Default: by the extension."`
	To         string `placeholder:"FORMAT" help:"Format of the output, likewise."`
	LabelSize  *int   `placeholder:"N" help:"From csv, npy and dense npz: the first N columns are the label. Default: 0, or what the content type says."`
	Columns    int    `placeholder:"N" help:"From libsvm, pbr and jsonl: how wide sparse rows are that do not tell it. Default: as wide as the keys reach, for which the input is read twice."`
	FromZero   bool   `help:"From or to libsvm: indices count from 0."`
	NonFinite  bool   `help:"From or to csv and libsvm: allow NaN and infinities."`
	Feature    string `placeholder:"NAME" help:"From pbr: the feature that is the row. Default: values."`
	Array      string `placeholder:"NAME" help:"From npz: the array that holds the rows."`
	LabelArray string `placeholder:"NAME" help:"From npz: the array that holds the labels. Default: label, if there is one."`
	framing
}

// Help returns what the flags do not tell.
func (c *Convert) Help() string {
	return "What is converted are rows of numbers and their labels. Of a pbr record that is one feature and the label " +
		"\"values\"; its other features and labels, uid, metadata and configuration are left out, from pbr to pbr, too."
}

// Validate checks what the types do not.
func (c *Convert) Validate() error {
	if c.LabelSize != nil && *c.LabelSize < 0 || c.Columns < 0 {
		return errors.New("--label-size and --columns can't be negative")
	}
	_, _, err := formatOf(c.From, ".csv")
	if err == nil {
		_, _, err = formatOf(c.To, ".csv")
	}
	return err
}

// formatOf returns the format that is named, or else the one that the name of a file tells.
func formatOf(named, file string) (convert.Format, convert.ReadOptions, error) {
	if strings.Contains(named, "/") {
		return convert.ByContentType(named)
	}
	if named != "" {
		file = "." + named
	}
	format, err := convert.ByPath(file)
	return format, convert.ReadOptions{}, err
}

// A conversion is one that is under way.
type conversion struct {
	*Convert
	from, to convert.Format
	read     convert.ReadOptions
	write    convert.WriteOptions
	counted  bool  // there was a pass before
	rows     int64 // that it found
}

// Run carries out the command.
func (c *Convert) Run(ctx context.Context, streams console.Streams) error {
	to, _, err := formatOf(c.To, c.Out)
	if err != nil {
		return err
	}
	in, err := open(ctx, streams, c.framing, []string{c.In})
	if err != nil {
		return err
	}
	job := &conversion{Convert: c, to: to, write: convert.WriteOptions{FromZero: c.FromZero, NonFinite: c.NonFinite}}
	if err := job.setSource(in); err != nil {
		return err
	}
	if err := job.checkFlags(); err != nil {
		return err
	}
	if err := job.count(ctx, streams, in); err != nil {
		return err
	}
	in.show(streams, "converting")
	defer in.progress.Done()
	if c.Out == "-" {
		return job.copy(ctx, in, struct{ io.Writer }{streams.Out}) // which hides that a file could seek
	}
	return atomicfile.Write(c.Out, content(func(w io.Writer) error {
		if !compressed(c.Out) {
			return job.copy(ctx, in, w)
		}
		gz := gzip.NewWriter(w)
		return errors.Join(job.copy(ctx, in, gz), gz.Close())
	}))
}

func compressed(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".gz") }

// setSource finds out what the input is: its first part tells, where no flag does.
func (j *conversion) setSource(in *input) (err error) {
	name := j.In
	if len(in.parts) > 0 {
		name = in.parts[0].name
	}
	if j.from, j.read, err = formatOf(j.From, name); err != nil {
		return err
	}
	if j.LabelSize != nil {
		j.read.LabelSize = *j.LabelSize
	}
	j.read.Columns, j.read.FromZero, j.read.NonFinite = j.Columns, j.FromZero, j.NonFinite
	j.read.Array, j.read.LabelArray = j.Array, j.LabelArray
	return nil
}

// checkFlags refuses flags that say nothing about the two formats.
func (j *conversion) checkFlags() error {
	type formats []convert.Format
	for _, flag := range []struct {
		name     string
		set      bool
		from, to formats
	}{
		{"--label-size", j.LabelSize != nil, formats{convert.CSV, convert.NPY, convert.NPZ}, nil},
		{"--columns", j.Columns > 0, formats{convert.LibSVM, convert.RecordIO, convert.JSONLines}, nil},
		{"--from-zero", j.FromZero, formats{convert.LibSVM}, formats{convert.LibSVM}},
		{"--non-finite", j.NonFinite, formats{convert.CSV, convert.LibSVM}, formats{convert.CSV, convert.LibSVM}},
		{"--feature", j.Feature != "", formats{convert.RecordIO}, nil},
		{"--multipart", j.Multipart == "dmlc", formats{convert.RecordIO}, nil},
		{"--array", j.Array != "", formats{convert.NPZ}, nil},
		{"--label-array", j.LabelArray != "", formats{convert.NPZ}, nil},
	} {
		if flag.set && !slices.Contains(flag.from, j.from) && !slices.Contains(flag.to, j.to) {
			return console.Usagef("%s does not apply from %s to %s", flag.name, j.from, j.to)
		}
	}
	return nil
}

// count makes a pass over the input where the output needs to know before what only the whole input
// tells: the width of sparse rows, the count of rows of a .npy that is a stream.
func (j *conversion) count(ctx context.Context, streams console.Streams, in *input) error {
	width, err := j.needsWidth(ctx, in)
	length := j.to == convert.NPY && (j.Out == "-" || compressed(j.Out))
	if err != nil || !width && !length {
		return err
	}
	if length {
		err = in.once("a .npy that is a stream")
	} else if err = in.once("finding the width of its rows"); err != nil {
		err = fmt.Errorf("%w: tell the width with --columns", err)
	}
	if err != nil {
		return err
	}
	in.show(streams, "counting")
	defer in.progress.Done()
	columns := 0
	err = j.each(ctx, in, func(src convert.Reader) error {
		rows, wide, err := convert.Count(src)
		j.rows += rows
		columns = max(columns, wide)
		return err
	})
	if width {
		j.read.Columns = columns
	}
	j.write.Rows, j.counted = j.rows, true
	return err
}

// needsWidth reports whether the sparse rows do not tell their width. Where the format leaves that
// to the rows, the first one decides, if the input can be read again.
func (j *conversion) needsWidth(ctx context.Context, in *input) (needs bool, err error) {
	switch {
	case j.to == convert.LibSVM || j.Columns > 0:
		return false, nil
	case j.from == convert.LibSVM:
		return true, nil
	case j.from != convert.RecordIO && j.from != convert.JSONLines || in.once("") != nil:
		return false, nil
	}
	err = j.each(ctx, in, func(src convert.Reader) error {
		row, err := src.Next()
		if err == io.EOF {
			return nil
		}
		needs = err == nil && row.Keys != nil && row.Columns == 0
		return cmp.Or(err, errEnough)
	})
	if err == errEnough {
		err = nil
	}
	return needs, err
}

// errEnough ends a pass before its end.
var errEnough = errors.New("enough is known")

// each does something with the rows of each part.
func (j *conversion) each(ctx context.Context, in *input, do func(convert.Reader) error) error {
	for s, err := range in.streams(ctx) {
		if err != nil {
			return err
		}
		src, err := j.reader(in, s)
		if err != nil {
			return err
		}
		if err := do(src); err == errEnough {
			return err
		} else if err != nil {
			return s.at(err)
		}
	}
	return nil
}

// copy converts all parts.
func (j *conversion) copy(ctx context.Context, in *input, to io.Writer) error {
	dst, err := convert.NewWriter(j.to, to, j.write)
	if err != nil {
		return err
	}
	rows := int64(0)
	err = j.each(ctx, in, func(src convert.Reader) error {
		n, err := convert.Copy(dst, src)
		rows += n
		if errors.Is(err, convert.ErrNoWidth) {
			err = fmt.Errorf("%w: tell it with --columns", err)
		}
		return err
	})
	if err == nil && j.counted && rows != j.rows {
		return errChanged
	}
	if err != nil {
		return err
	}
	return dst.Close()
}

// reader returns a reader of the rows of a part.
func (j *conversion) reader(in *input, s stream) (convert.Reader, error) {
	switch j.from {
	case convert.RecordIO:
		var rows convert.Reader = &recordRows{records: in.reader(s), decoder: recordio.RowDecoder{Feature: j.Feature}}
		if j.read.Columns > 0 {
			rows = convert.Widen(rows, j.read.Columns)
		}
		return rows, nil
	case convert.NPZ:
		if file, ok := s.stored.(*os.File); ok && !compressed(s.name) {
			return convert.NewReader(j.from, file, j.read) // which is read where it lies
		}
	}
	return convert.NewReader(j.from, s, j.read)
}

// recordRows are the rows of records, read as the flags say.
type recordRows struct {
	records *recordio.Reader
	decoder recordio.RowDecoder
}

// Next returns the next row.
func (r *recordRows) Next() (convert.Row, error) {
	payload, err := r.records.Next()
	if err != nil {
		return convert.Row{}, err
	}
	row, err := r.decoder.DecodeSparse(payload)
	if err != nil {
		return convert.Row{}, r.records.At(err)
	}
	return convert.Row(row), nil
}
