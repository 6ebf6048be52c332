package records

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/recordio/recordpb"
)

// A table shows a record a line, shortened for people.
type table struct {
	out   io.Writer
	names bool  // tell where a part begins
	part  *part // of the record shown last
}

const (
	firstValues = 5  // shown of a tensor
	firstRunes  = 40 // shown of a text
	defaultName = "values"
)

func (t *table) print(r record, rec *recordpb.Record, err error) error {
	if t.part != r.part {
		if t.names {
			fmt.Fprintf(t.out, "== %s\n", console.Printable(r.part.name))
		}
		if t.part == nil || t.names {
			fmt.Fprintf(t.out, "%8s %12s %10s  %-10s %s\n", "RECORD", "BYTE", "SIZE", "LABEL", "FEATURES")
		}
		t.part = r.part
	}
	label, features := "-", ""
	if err != nil {
		features = err.Error()
	} else {
		label, features = shortLabel(rec.GetLabel()), shortRecord(rec)
	}
	_, err = fmt.Fprintf(t.out, "%8d %12d %10d  %-10s %s\n", r.index, r.offset, len(r.payload), label, features)
	return err
}

// shortLabel returns the number alone where the label is one number under the usual name.
func shortLabel(label map[string]*recordpb.Value) string {
	if len(label) == 0 {
		return "-"
	}
	if value, ok := label[defaultName]; ok && len(label) == 1 {
		if t := tensorOf(value); t.len() == 1 && !t.sparse() {
			return short(t, 0)
		}
	}
	return shortValues(label)
}

func shortRecord(rec *recordpb.Record) string {
	features := shortValues(rec.GetFeatures())
	if features == "" {
		features = "none"
	}
	for _, text := range []struct {
		name string
		text *string
	}{{"uid", rec.Uid}, {"metadata", rec.Metadata}, {"configuration", rec.Configuration}} {
		if text.text != nil {
			features += "; " + text.name + " " + shortText(*text.text)
		}
	}
	return features
}

// shortValues returns the values in the order of their names.
func shortValues(values map[string]*recordpb.Value) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, shortText(name)+" "+shortTensor(tensorOf(values[name])))
	}
	return strings.Join(all, "; ")
}

// shortTensor returns kind, shape and first values: "float32[1000] sparse 2: 3:0.5 300:2".
func shortTensor(t tensor) string {
	if !t.numeric() {
		return shortBytes(t)
	}
	var b strings.Builder
	b.WriteString(t.kind)
	switch {
	case len(t.shape) > 0:
		extents := make([]string, len(t.shape))
		for i, extent := range t.shape {
			extents[i] = strconv.FormatUint(extent, 10)
		}
		fmt.Fprintf(&b, "[%s]", strings.Join(extents, "×"))
	case t.sparse():
		b.WriteString("[?]")
	default:
		fmt.Fprintf(&b, "[%d]", t.len())
	}
	if t.sparse() {
		fmt.Fprintf(&b, " sparse %d:", t.len())
	}
	for i := range min(t.len(), firstValues) {
		b.WriteByte(' ')
		if i < len(t.keys) {
			fmt.Fprintf(&b, "%d:", t.keys[i])
		}
		b.WriteString(short(t, i))
	}
	if t.len() > firstValues {
		b.WriteString(" …")
	}
	return b.String()
}

func shortBytes(t tensor) string {
	if t.kind == noKind {
		return noKind
	}
	total := 0
	for _, item := range t.bytes.GetValue() {
		total += len(item)
	}
	text := fmt.Sprintf("bytes[%d] %s", len(t.bytes.GetValue()), humanize.IBytes(uint64(total)))
	if t.bytes.ContentType != nil {
		text += " " + shortText(t.bytes.GetContentType())
	}
	return text
}

// short returns a number of a tensor in the fewest digits that tell it from its neighbours.
func short(t tensor, i int) string {
	if t.kind == float32Kind {
		return strconv.FormatFloat(float64(t.float32s[i]), 'g', -1, 32)
	}
	return strconv.FormatFloat(t.at(i), 'g', -1, 64)
}

// shortText returns the begin of a text, quoted where it is not one plain word.
func shortText(text string) string {
	runes := 0
	for at := range text {
		if runes++; runes > firstRunes {
			return shortText(text[:at]) + "…"
		}
	}
	if text == "" || strings.ContainsAny(text, " ;") {
		return strconv.Quote(text)
	}
	return console.Printable(text)
}
