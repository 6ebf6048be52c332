package filemode

import (
	"cmp"
	"slices"
)

// A span is bytes From up to To of a file, without To.
type span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// missing returns what the spans leave of size bytes, in order and cut into
// parts. Of an empty file that is one empty span, unless there is one.
func missing(have []span, size, part int64) (gaps []span) {
	if size == 0 && len(have) == 0 {
		return []span{{}}
	}
	have = slices.SortedFunc(slices.Values(have), func(a, b span) int { return cmp.Compare(a.From, b.From) })
	at := int64(0)
	for _, h := range append(have, span{size, size}) {
		for ; at < h.From; at = min(at+part, h.From) {
			gaps = append(gaps, span{at, min(at+part, h.From)})
		}
		at = max(at, h.To)
	}
	return gaps
}

func bytesOf(spans []span) (n int64) {
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}
