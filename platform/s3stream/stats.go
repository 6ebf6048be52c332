package s3stream

import (
	"context"
	"iter"
	"sync/atomic"
	"time"
)

// Stats are what a Source has done so far, over all its epochs.
type Stats struct {
	Bytes  int64 // delivered
	Items  int64 // delivered whole: objects, or what an augmented manifest names
	Epochs int   // opened

	Fetched   int64 // bytes that came from S3
	Requests  int64 // GetObject
	Retries   int64 // of them, after an answer that failed, broke off or stalled
	Throttled int64 // answers that asked for fewer requests
	Cut       int64 // requests that were cut for being slow, and sent again

	Active   int   // requests that run
	Limit    int   // of requests at a time, as measured
	PartSize int64 // of large objects, as measured; bytes
	Held     int64 // bytes of memory that are filled, or reserved for requests that run

	WaitedForS3     time.Duration // by readers, in Read and WriteTo
	WaitedForReader time.Duration // between calls of Read, and in the writes of WriteTo
}

// counts are the numbers behind Stats.
type counts struct {
	bytes, items, epochs                       atomic.Int64
	fetched, requests, retries, throttled, cut atomic.Int64
	active, held                               atomic.Int64
	waitedForS3, waitedForReader               atomic.Int64 // nanoseconds
	renewed                                    atomic.Int64 // when credentials were, in Unix nanoseconds
}

func (c *counts) sample(now time.Time) sample {
	return sample{now, c.fetched.Load(), c.bytes.Load(), c.throttled.Load(), time.Duration(c.waitedForS3.Load())}
}

// Stats returns the numbers of this moment. It may be called at any time.
func (s *Source) Stats() Stats {
	c := &s.counts
	return Stats{
		Bytes: c.bytes.Load(), Items: c.items.Load(), Epochs: int(c.epochs.Load()),
		Fetched: c.fetched.Load(), Requests: c.requests.Load(), Retries: c.retries.Load(),
		Throttled: c.throttled.Load(), Cut: c.cut.Load(),
		Active: int(c.active.Load()), Limit: s.pace.limit(), PartSize: s.pace.partSize(), Held: c.held.Load(),
		WaitedForS3: time.Duration(c.waitedForS3.Load()), WaitedForReader: time.Duration(c.waitedForReader.Load()),
	}
}

// Watch yields the Stats now, after each interval, and a last time when ctx is
// done. It blocks in between.
func (s *Source) Watch(ctx context.Context, interval time.Duration) iter.Seq[Stats] {
	return func(yield func(Stats) bool) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for yield(s.Stats()) {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				yield(s.Stats())
				return
			}
		}
	}
}
