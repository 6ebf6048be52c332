package records

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cmd/algospec/internal/s3client"
	"github.com/algospec/algospec/platform/s3stream"
)

// objects returns the parts that are the objects under a prefix, without those that channels leave
// out. All are read as one stream, which fetches several at a time.
func objects(ctx context.Context, uri string) ([]part, error) {
	client, err := s3client.New(ctx, s3client.Options{})
	if err != nil {
		return nil, err
	}
	found, err := s3stream.List(ctx, client, uri)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(o s3stream.Object) bool { return leftOut(o, uri) })
	all := &prefix{source: s3stream.NewSource(client, found, s3stream.Options{})}
	parts := make([]part, len(found))
	for i, o := range found {
		parts[i] = part{
			name:       "s3://" + o.Bucket + "/" + o.Key,
			size:       o.Size,
			replayable: true,
			open:       func(ctx context.Context) (io.ReadCloser, error) { return all.open(ctx, i, found) },
		}
	}
	return parts, nil
}

// leftOut reports whether a channel leaves out an object under a prefix, which it is not if it is
// named itself.
func leftOut(o s3stream.Object, uri string) bool {
	name := "s3://" + o.Bucket + "/" + o.Key
	folder := uri[:strings.LastIndex(uri, "/")+1]
	return name != uri && slices.ContainsFunc(strings.Split(strings.TrimPrefix(name, folder), "/"), channel.Hidden)
}

// A prefix is the stream of all its objects, which are opened in their order.
type prefix struct {
	source *s3stream.Source
	stream io.ReadCloser
	object io.LimitedReader // the one that is open
}

// open opens object i. A pass over the objects begins with the first.
func (p *prefix) open(ctx context.Context, i int, objects []s3stream.Object) (io.ReadCloser, error) {
	if i == 0 {
		if p.stream != nil { // a pass that did not reach the last object
			p.stream.Close()
		}
		stream, err := p.source.Open(ctx, 0)
		if err != nil {
			return nil, err
		}
		p.stream = stream
		p.object = io.LimitedReader{R: stream}
	}
	if _, err := io.Copy(io.Discard, &p.object); err != nil { // what the part before has left
		return nil, err
	}
	p.object.N = objects[i].Size
	return object{p, i == len(objects)-1}, nil
}

// An object is one that is open.
type object struct {
	*prefix
	last bool
}

func (o object) Read(b []byte) (int, error) { return o.prefix.object.Read(b) }

// Close ends the stream behind the last object.
func (o object) Close() error {
	if !o.last {
		return nil
	}
	stream := o.stream
	o.stream = nil
	return stream.Close()
}
