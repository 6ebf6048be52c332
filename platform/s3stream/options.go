package s3stream

import (
	"log/slog"
	"time"
)

// Options say what a Source makes of its list, and how it goes about it. The
// zero value streams every object as it is.
type Options struct {
	Shard     Shard    // which part of the list is streamed; the zero value is all of it
	Shuffle   *Shuffle // nil keeps the order of the list
	Gzip      bool     // objects are gzip files (CompressionType): each is decompressed
	RecordIO  bool     // each item becomes a RecordIO record (RecordWrapperType)
	MaxRecord int      // longer records are written in parts; 0 means recordio's limit of 512 MiB
	Lines     bool     // objects are lines of text: one without a newline at its end gets one if another follows

	ReadAhead   int64         // bytes held at most; 0 means 256 MiB
	PartSize    int64         // larger objects are fetched in ranges of this size; 0 means as measured, 1 to 32 MiB
	Concurrency int           // requests of an epoch at a time, at most; 0 means 64
	Tries       int           // requests made at one place of an object before it counts as unreadable; 0 means 10
	MaxBackoff  time.Duration // longest pause between two of them; 0 means 20 s
	Idle        time.Duration // how long a request may bring nothing before it counts as broken off; 0 means 30 s
	Slow        time.Duration // how long one may be much slower than most before it is cut and asked for again; 0 means 2 s
	Logger      *slog.Logger  // told of requests that fail or are slow; nil discards
}

// Blocks are the unit of memory and of delivery. Larger writes to a FIFO fall
// out of the processor's cache, smaller ones cost more calls; a small ReadAhead
// still makes minBlocks of them.
const (
	maxBlock  = 256 << 10
	minBlocks = 16
)

func (o Options) withDefaults() Options {
	orElse(&o.ReadAhead, 256<<20)
	orElse(&o.Concurrency, 64)
	orElse(&o.Tries, 10)
	orElse(&o.Idle, 30*time.Second)
	orElse(&o.MaxBackoff, 20*time.Second)
	orElse(&o.Slow, 2*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// orElse puts in a default.
func orElse[T int | int64 | time.Duration](v *T, standard T) {
	if *v <= 0 {
		*v = standard
	}
}

func (o Options) blockSize() int64 { return min(maxBlock, max(1, o.ReadAhead/minBlocks)) }
func (o Options) blockCount() int  { return int(o.ReadAhead / o.blockSize()) }

// leastBlocks is the memory that a Source does not go below: some blocks that
// fill while one is delivered.
func (o Options) leastBlocks() int { return min(minBlocks, o.blockCount()) }
