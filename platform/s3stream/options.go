package s3stream

import "time"

// Options tune a Source. The zero value suits S3 within its region.
type Options struct {
	ReadAhead   int64         // bytes held at most; 0 means 64 MiB
	PartSize    int64         // larger objects are fetched in ranges of this size; 0 means 4 MiB
	Concurrency int           // requests at a time; 0 means 16
	Tries       int           // requests made for a part whose body breaks off; 0 means 5
	MaxBackoff  time.Duration // longest pause between two of them; 0 means 5 s
	Idle        time.Duration // how long a request may bring nothing before it counts as broken off; 0 means 30 s
}

// Blocks are the unit of memory and of delivery. Larger writes to a FIFO fall
// out of the processor's cache, smaller ones cost more calls; a small ReadAhead
// still makes minBlocks of them.
const (
	maxBlock  = 256 << 10
	minBlocks = 16
)

func (o Options) withDefaults() Options {
	if o.ReadAhead <= 0 {
		o.ReadAhead = 64 << 20
	}
	if o.PartSize <= 0 {
		o.PartSize = min(4<<20, max(1, o.ReadAhead/4)) // so that some overlap
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 16
	}
	if o.Tries <= 0 {
		o.Tries = 5
	}
	if o.Idle <= 0 {
		o.Idle = 30 * time.Second
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 5 * time.Second
	}
	// A part must fit into the blocks, or it would wait for ever to be fetched.
	o.PartSize = min(o.PartSize, o.blockSize()*int64(o.blockCount()))
	return o
}

func (o Options) blockSize() int64 { return min(maxBlock, max(1, o.ReadAhead/minBlocks)) }
func (o Options) blockCount() int  { return int(o.ReadAhead / o.blockSize()) }
