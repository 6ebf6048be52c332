package kmeans

import (
	"cmp"
	"slices"
	"time"

	"github.com/algospec/algospec/algorithms"
)

// What the original calls the parts of its time that there are here.
const (
	partLoading   = "batch data loading with context"
	partDistances = "compute all data-center distances: inner product"
	partCollect   = "collect from kv store"
	partUpdate    = "update state and report convergance"
)

// A clock knows how much time went where.
type clock map[string]time.Duration

// begin starts to measure a part; the function that it returns ends that.
func (c clock) begin(part string) (end func()) {
	began := time.Now()
	return func() { c[part] += time.Since(began) }
}

// report prints the shares, the largest first.
func (c clock) report(r *algorithms.Report) {
	total := time.Duration(0)
	var parts []string
	for part, took := range c {
		total += took
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b)) })
	for _, part := range parts {
		r.Infof("%s took: %.4f%%, (%f secs)", part, 100*c[part].Seconds()/max(total.Seconds(), 1e-9), c[part].Seconds())
	}
	r.Infof("TOTAL took: %v", total.Seconds())
}
