package filemode

import "github.com/algospec/algospec/platform/s3stream"

// Options tune a Download. The zero value suits S3 within its region.
type Options struct {
	Concurrency int              // requests at a time; 0 means 16
	PartSize    int64            // larger objects are fetched in ranges of this size; 0 means 16 MiB
	Stream      s3stream.Options // how one request heals: Tries, MaxBackoff, Idle and Logger count

	// Progress, if not nil, is told of the bytes that are there, those of an
	// earlier run too, and of how many there will be. It is called from one
	// goroutine at a time, done never falls, and it must be quick.
	Progress func(done, total int64)
}

func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 16
	}
	if o.PartSize <= 0 {
		o.PartSize = 16 << 20
	}
	return o
}
