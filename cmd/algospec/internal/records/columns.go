package records

import (
	"maps"
	"math"
	"slices"

	"github.com/algospec/algospec/recordio/recordpb"
)

const (
	maxColumns = 1 << 18 // tracked in all, so that memory is bounded whatever a key says
	maxNames   = 1000    // of features and labels
)

// Columns are the statistics of all values under one name.
type columns struct {
	kinds         map[string]int64 // how many values have which type
	dense, sparse int64
	minWidth      uint64
	maxWidth      uint64 // 0 where no value tells
	widths        bool   // some value tells its width
	columns       []column
	untracked     int64 // stored numbers in columns past those tracked

	// Sparse values have a zero in each column that is inside their width and not among their keys.
	ends    []int64 // ends[w] sparse values have width w
	endless int64   // sparse values that are wider than what is tracked, or do not tell

	values *labelCounts // of labels
	items  int64        // of bytes values
	bytes  int64
}

// add takes in a value that fits. It may track so many more columns, of which it returns what is
// left.
func (c *columns) add(t tensor, budget int) int {
	c.kinds[t.kind]++
	if t.kind == bytesKind {
		c.items += int64(len(t.bytes.GetValue()))
		for _, item := range t.bytes.GetValue() {
			c.bytes += int64(len(item))
		}
	}
	if !t.numeric() {
		return budget
	}
	limit := uint64(len(c.columns) + budget)
	width, known, _ := t.columns()
	if known {
		c.widen(width)
	}
	if t.sparse() {
		c.sparse++
		budget = c.end(width, known, budget)
	} else {
		c.dense++
	}
	for i := range t.len() {
		at := uint64(i)
		if len(t.keys) > 0 {
			at = t.keys[i]
		}
		if at >= limit {
			c.untracked++
			continue
		}
		if missing := int(at) + 1 - len(c.columns); missing > 0 {
			c.columns = append(c.columns, make([]column, missing)...)
			budget -= missing
		}
		c.columns[at].add(t.at(i))
		if t.sparse() {
			c.columns[at].keyed++
		}
	}
	if c.values != nil {
		c.values.add(t)
	}
	return budget
}

func (c *columns) widen(width uint64) {
	if !c.widths {
		c.minWidth, c.widths = width, true
	}
	c.minWidth, c.maxWidth = min(c.minWidth, width), max(c.maxWidth, width)
}

// end notes how wide a sparse value is.
func (c *columns) end(width uint64, known bool, budget int) int {
	if !known || width > uint64(len(c.columns)+budget) {
		c.endless++
		return budget
	}
	if missing := int(width) - len(c.columns); missing > 0 {
		c.columns = append(c.columns, make([]column, missing)...)
		budget -= missing
	}
	if missing := int(width) + 1 - len(c.ends); missing > 0 {
		c.ends = append(c.ends, make([]int64, missing)...)
	}
	c.ends[width]++
	return budget
}

// finish puts in the zeros that sparse values leave out.
func (c *columns) finish() {
	covering := c.endless
	for i := len(c.columns) - 1; i >= 0; i-- {
		if i+1 < len(c.ends) {
			covering += c.ends[i+1]
		}
		zeros := covering - c.columns[i].keyed
		c.columns[i].merge(column{finite: zeros, zeros: zeros})
	}
}

// named is the columns of each name.
type named struct {
	byName map[string]*columns
	others int64 // values under names past the limit
	labels int   // distinct values to count; 0 where these are no labels
}

// add takes in the values of a record.
func (n *named) add(values map[string]*recordpb.Value, budget int) int {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c, ok := n.byName[name]
		if !ok {
			if len(n.byName) == maxNames {
				n.others++
				continue
			}
			c = &columns{kinds: map[string]int64{}}
			if n.labels > 0 {
				c.values = &labelCounts{limit: n.labels, of: map[uint64]int64{}}
			}
			n.byName[name] = c
		}
		budget = c.add(tensorOf(values[name]), budget)
	}
	return budget
}

// labelCounts counts how often each number is a label, up to a limit of different ones.
type labelCounts struct {
	limit int
	of    map[uint64]int64 // by the bits of the number
	many  bool             // there are more than the limit
}

func (l *labelCounts) add(t tensor) {
	if l.many || t.len() != 1 || t.sparse() {
		return
	}
	key := labelKey(t.at(0))
	if _, ok := l.of[key]; !ok && len(l.of) == l.limit {
		l.many = true
		return
	}
	l.of[key]++
}

// labelKey returns the bits of a label: all NaN are one, and both zeros.
func labelKey(x float64) uint64 {
	switch {
	case math.IsNaN(x):
		x = math.NaN()
	case x == 0:
		x = 0
	}
	return math.Float64bits(x)
}

// sorted returns the labels in ascending order, NaN first.
func (l *labelCounts) sorted() (labels []float64) {
	for key := range l.of {
		labels = append(labels, math.Float64frombits(key))
	}
	slices.Sort(labels)
	return labels
}
