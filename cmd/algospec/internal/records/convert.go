package records

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
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
	LabelSize  *int   `placeholder:"N" help:"csv, npy and dense npz: the first N columns are the label. Default: 0, or what the content type says."`
	Columns    int    `placeholder:"N" help:"How wide sparse rows are that do not tell it. Default: as wide as the keys reach, for which libsvm is read twice."`
	FromZero   bool   `help:"libsvm: indices count from 0."`
	NonFinite  bool   `help:"csv and libsvm: allow NaN and infinities."`
	Feature    string `placeholder:"NAME" help:"pbr: the feature that is the row. Default: values."`
	Array      string `placeholder:"NAME" help:"npz: the array that holds the rows."`
	LabelArray string `placeholder:"NAME" help:"npz: the array that holds the labels. Default: label, if there is one."`
	framing
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

// count makes a pass over the input where the output needs to know before what only the whole input
// tells: the width of LibSVM's rows, the count of rows of a .npy that is a stream.
func (j *conversion) count(ctx context.Context, streams console.Streams, in *input) error {
	width := j.from == convert.LibSVM && j.to != convert.LibSVM && j.Columns == 0
	length := j.to == convert.NPY && (j.Out == "-" || compressed(j.Out))
	if !width && !length || j.In == "-" {
		return nil
	}
	in.show(streams, "counting")
	defer in.progress.Done()
	for s, err := range in.streams(ctx) {
		if err != nil {
			return err
		}
		src, err := j.reader(in, s)
		if err != nil {
			return err
		}
		rows, columns, err := convert.Count(src)
		if err != nil {
			return s.at(err)
		}
		j.write.Rows += rows
		if width {
			j.read.Columns = max(j.read.Columns, columns)
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
	for s, err := range in.streams(ctx) {
		if err != nil {
			return err
		}
		src, err := j.reader(in, s)
		if err != nil {
			return err
		}
		if _, err := convert.Copy(dst, src); err != nil {
			return s.at(err)
		}
	}
	return dst.Close()
}

// reader returns a reader of the rows of a part.
func (j *conversion) reader(in *input, s stream) (convert.Reader, error) {
	switch j.from {
	case convert.RecordIO:
		return &recordRows{records: in.reader(s), decoder: recordio.RowDecoder{Feature: j.Feature}}, nil
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
