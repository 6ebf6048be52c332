package fastfile

import "github.com/algospec/algospec/platform/s3stream"

// Options tune a file system. The zero value suits S3 within its region.
type Options struct {
	Cache       int64            // bytes of blocks held at most, for all files together; 0 means 256 MiB
	Block       int64            // least that is fetched; 0 means 64 KiB, or a sixteenth of a small Cache
	ReadAhead   int64            // furthest ahead of a sequential reader; 0 means 32 MiB, at most a quarter of Cache
	Concurrency int              // requests that readers wait for at a time, and as many that read ahead; 0 means 32
	AllowOther  bool             // lets users other than this process's read a mount, by the files' modes
	Stream      s3stream.Options // Tries, MaxBackoff, Idle and Logger of each request; the rest does not count
}

// Requests that read ahead ask for an eighth of how far ahead, within these
// bounds: enough of them to overlap, and each worth its round trip.
const (
	minPart = 1 << 20
	maxPart = 4 << 20
)

// firstAhead is how far ahead of a reader that begins at the beginning is read:
// a small file costs one request.
const firstAhead = 1 << 20

func (o Options) withDefaults() Options {
	if o.Cache <= 0 {
		o.Cache = 256 << 20
	}
	if o.Block <= 0 {
		o.Block = min(64<<10, o.Cache/16)
	}
	o.Block = min(max(o.Block, 1), o.Cache)
	if o.ReadAhead <= 0 {
		o.ReadAhead = 32 << 20
	}
	o.ReadAhead = min(o.ReadAhead, o.Cache/4)
	if o.Concurrency <= 0 {
		o.Concurrency = 32
	}
	return o
}
