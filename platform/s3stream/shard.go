package s3stream

import "iter"

// A Shard is the part of a list that one host gets (S3DataDistributionType).
// The zero value is the whole list: FullyReplicated.
//
// With ShardedByS3Key, unit i of the list goes to host number i mod Count, as
// the service was observed to do (container contract, 2.6): whole units,
// whatever their size. A host may get none.
type Shard struct {
	Index, Count int  // of the host, from 0, among the hosts that get the channel
	Contiguous   bool // host h gets the h-th of Count runs of the list instead, for tests
}

// Of returns which of n units the shard holds, in their order.
func (s Shard) Of(n int) iter.Seq[int] {
	from, to, step := s.Index, n, s.Count
	switch {
	case s.Count <= 1:
		from, step = 0, 1
	case s.Contiguous:
		from, to, step = n*s.Index/s.Count, n*(s.Index+1)/s.Count, 1
	}
	return func(yield func(int) bool) {
		for i := from; i < to; i += step {
			if !yield(i) {
				return
			}
		}
	}
}

// Objects returns the shard of a list of objects.
func (s Shard) Objects(all Objects) Objects {
	if s.Count <= 1 {
		return all
	}
	var mine Objects
	for i := range s.Of(len(all)) {
		mine = append(mine, all[i])
	}
	return mine
}
