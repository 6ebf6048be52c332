package s3stream

import (
	"context"
	"iter"
	"sync"
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
	bytes, moved, items, epochs                atomic.Int64
	fetched, requests, retries, throttled, cut atomic.Int64
	active, held                               atomic.Int64
	waitedForS3, waitedForMemory               stopwatch
	waitedForReader                            atomic.Int64 // nanoseconds
	renewed                                    atomic.Int64 // when credentials were, in Unix nanoseconds
}

// A stopwatch adds up the time that some wait, also while they do.
type stopwatch struct {
	mu      sync.Mutex
	waiting int
	last    time.Time // when total was right
	total   time.Duration
}

// count notes that so many more wait, and returns the total.
func (s *stopwatch) count(n int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.waiting > 0 {
		s.total += time.Duration(s.waiting) * now.Sub(s.last)
	}
	s.waiting, s.last = s.waiting+n, now
	return s.total
}

func (c *counts) sample(now time.Time) sample {
	return sample{now, c.fetched.Load(), c.bytes.Load(), c.moved.Load(), c.throttled.Load(), c.waitedForS3.count(0), c.waitedForMemory.count(0)}
}

// Stats returns the numbers of this moment. It may be called at any time.
func (s *Source) Stats() Stats {
	c := &s.counts
	return Stats{
		Bytes: c.bytes.Load(), Items: c.items.Load(), Epochs: int(c.epochs.Load()),
		Fetched: c.fetched.Load(), Requests: c.requests.Load(), Retries: c.retries.Load(),
		Throttled: c.throttled.Load(), Cut: c.cut.Load(),
		Active: int(c.active.Load()), Limit: s.pace.limit(), PartSize: s.pace.partSize(), Held: c.held.Load(),
		WaitedForS3: c.waitedForS3.count(0), WaitedForReader: time.Duration(c.waitedForReader.Load()),
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
