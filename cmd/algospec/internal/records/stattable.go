package records

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// Of many columns, the first and the last are told.
const (
	fewColumns  = 20
	headColumns = 10
	tailColumns = 5
)

// tell writes the statistics for people, behind the name.
func (c *columns) tell(out io.Writer, all bool) {
	var facts []string
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		facts = append(facts, fmt.Sprintf("%s in %s", kind, records(c.kinds[kind])))
	}
	if c.dense > 0 && c.sparse > 0 {
		facts = append(facts, fmt.Sprintf("%s dense, %s sparse", humanize.Comma(c.dense), humanize.Comma(c.sparse)))
	} else if c.dense > 0 {
		facts = append(facts, "dense")
	} else if c.sparse > 0 {
		facts = append(facts, "sparse")
	}
	if c.widths && c.minWidth == c.maxWidth {
		facts = append(facts, fmt.Sprintf("%d wide", c.maxWidth))
	} else if c.widths {
		facts = append(facts, fmt.Sprintf("%d to %d wide", c.minWidth, c.maxWidth))
	}
	if c.items > 0 {
		facts = append(facts, fmt.Sprintf("%s of %s", console.Count(c.items, "item", "items"), console.Size(c.bytes)))
	}
	fmt.Fprintln(out, strings.Join(facts, ", "))
	c.tellColumns(out, all)
	if c.untracked > 0 {
		fmt.Fprintf(out, "  %s not looked at, in columns past the first %s\n",
			console.Count(c.untracked, "value", "values"), humanize.Comma(int64(len(c.columns))))
	}
	if c.values != nil && len(c.values.of) > 0 {
		c.values.tell(out)
	}
}

func (c *columns) tellColumns(out io.Writer, all bool) {
	if len(c.columns) == 0 {
		return
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "column\tcount\tmin\tmax\tmean\tdeviation\tzeros\tNaN\t")
	for i := range c.columns {
		if !all && len(c.columns) > fewColumns && i >= headColumns && i < len(c.columns)-tailColumns {
			if i == headColumns {
				fmt.Fprintln(t, "…\t\t\t\t\t\t\t\t")
			}
			continue
		}
		k := c.columns[i].summary()
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t\n", i, k.count, digits(k.min), digits(k.max),
			digits(k.mean), digits(k.deviation), percent(k.zeroShare), k.nan)
	}
	t.Flush()
}

// tell writes how often each label stands.
func (l *labelCounts) tell(out io.Writer) {
	if l.many {
		fmt.Fprintf(out, "  more than %d different labels\n", l.limit)
		return
	}
	fmt.Fprintf(out, "  %s:", console.Count(int64(len(l.of)), "label", "different labels"))
	for _, label := range l.sorted() {
		fmt.Fprintf(out, " %s×%d", strconv.FormatFloat(label, 'g', -1, 64), l.of[labelKey(label)])
	}
	fmt.Fprintln(out)
}

func digits(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + "%" }
