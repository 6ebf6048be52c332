package fastfile

import (
	"sync/atomic"
	"time"
)

// Stats say what a file system has done so far.
type Stats struct {
	Opens        int64         // files opened
	Reads        int64         // of readers, or of the kernel for them
	BytesRead    int64         // given to them
	Hits, Misses int64         // blocks that were there when a read came to them, and that it waited for
	Waited       time.Duration // for those, all readers together
	Requests     int64         // to S3, not counting those that were asked again
	BytesFetched int64         // in whole blocks
	Cached       int64         // bytes that blocks take now
	MostCached   int64         // and took at most
}

type counts struct {
	opens, reads, bytesRead, hits, misses, waited, requests, bytesFetched atomic.Int64
}

// Stats returns a snapshot. It does not block.
func (f *FS) Stats() Stats {
	cached, most := f.cache.held()
	return Stats{
		Opens:        f.counts.opens.Load(),
		Reads:        f.counts.reads.Load(),
		BytesRead:    f.counts.bytesRead.Load(),
		Hits:         f.counts.hits.Load(),
		Misses:       f.counts.misses.Load(),
		Waited:       time.Duration(f.counts.waited.Load()),
		Requests:     f.counts.requests.Load(),
		BytesFetched: f.counts.bytesFetched.Load(),
		Cached:       cached,
		MostCached:   most,
	}
}
