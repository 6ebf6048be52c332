package s3stream

import (
	"context"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Client is the two calls to S3 that this package makes. An *s3.Client is one.
// Its retryer answers to throttling and failed requests; its HTTP transport
// should keep as many idle connections per host as a Source fetches at a time.
type Client interface {
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// A Source streams a list of objects, once per epoch. It implements
// channel.Source. Several epochs may be open at a time, each with memory of
// its own.
type Source struct {
	client  Client
	objects []Object
	opts    Options
	blocks  sync.Pool // of finished epochs, as *[]byte
}

// NewSource returns a Source of the objects in their order. An empty list, as
// of a host whose shard is empty, makes epochs that end at once. The Source
// keeps the slice.
func NewSource(client Client, objects []Object, opts Options) *Source {
	return &Source{client: client, objects: objects, opts: opts.withDefaults()}
}

// Open starts an epoch: the concatenation of all objects. It does not wait for
// S3, so what is wrong with an object shows when its bytes are due. Epochs do
// not differ yet, whatever their number.
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
	return newReader(ctx, s), nil
}
