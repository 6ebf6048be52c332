package s3stream

import (
	"context"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Client is the calls to S3 that this package makes. An *s3.Client is one. Its
// HTTP transport should keep as many idle connections per host as a Source
// fetches at a time; its retryer is not used for GetObject.
type Client interface {
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// A Listing is what a data source names, in its order: Objects or an *Augmented
// manifest. A unit is what is shuffled and shared out among hosts.
type Listing interface {
	Len() int                                       // units
	AppendUnit(items []Item, i int) ([]Item, error) // appends what unit i holds
}

// An Item is one thing to deliver, and a record where items are wrapped.
type Item struct {
	Object *Object // nil for Text; its Size is -1 where only S3 knows it
	Text   []byte
}

// Objects is the Listing of an S3 prefix or a manifest. Each object is a unit.
type Objects []Object

// Len returns the number of objects.
func (o Objects) Len() int { return len(o) }

// AppendUnit appends object i.
func (o Objects) AppendUnit(items []Item, i int) ([]Item, error) {
	return append(items, Item{Object: &o[i]}), nil
}

// Size returns the bytes of all objects together.
func (o Objects) Size() (size int64) {
	for i := range o {
		size += max(0, o[i].Size)
	}
	return size
}

// A Source streams a list, once per epoch. It implements channel.Source.
// Several epochs may be open at a time, each with memory of its own.
type Source struct {
	client Client
	list   Listing
	opts   Options
	pace   *pace
	counts counts
}

// NewSource returns a Source of the list. An empty or nil list, as of a host
// whose shard is empty, makes epochs that end at once. The Source keeps the list,
// which must not change.
func NewSource(client Client, list Listing, opts Options) *Source {
	opts = opts.withDefaults()
	if list == nil {
		list = Objects(nil)
	}
	return &Source{client: client, list: list, opts: opts, pace: newPace(opts)}
}

// Open begins an epoch. S3 is asked when it is first read, so what is wrong with
// an object shows when its bytes are due. Epochs differ only in the order of
// units, where there is a Shuffle.
//
// Read blocks until bytes are there and returns context.Cause(ctx) once ctx is
// done. The reader is also an io.WriterTo, which writes blocks without copying
// them; WriteTo does not watch ctx while the writer blocks. Close may be called
// at any moment, from any goroutine: it cancels the requests, waits for the
// fetching goroutines to end, and makes a Read that waits fail.
func (s *Source) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return newEpoch(ctx, s, epoch), nil
}

// units are the numbers of the units to stream in an epoch, in their order.
func (s *Source) units(epoch int) iter.Seq[int] {
	n := s.list.Len()
	mine := s.opts.Shard.Of(n)
	if s.opts.Shuffle == nil {
		return mine
	}
	order := s.opts.Shuffle.Order(n, epoch)
	return func(yield func(int) bool) {
		for i := range mine {
			if !yield(order[i]) {
				return
			}
		}
	}
}

// Items are what an epoch delivers, in its order, without asking S3. An error is
// yielded last.
func (s *Source) Items(epoch int) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for unit := range s.units(epoch) {
			items, err := s.list.AppendUnit(nil, unit)
			if err != nil {
				yield(Item{}, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}
