package s3stream_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/platform/s3stream"
)

// A changing is objects of random bytes that may be replaced at any moment.
type changing struct {
	bucket *bucket
	form   form
	ctx    context.Context

	mu       sync.Mutex
	random   *rand.Rand
	fill     *rand.ChaCha8
	bodies   map[string][]byte // not what is stored, but what it stands for
	version  int               // counts replacements
	replaced map[string]int    // the version that did it last
	err      error
}

// A listing is the objects of one version.
type listing struct {
	version int
	objects s3stream.Objects
	bodies  map[string][]byte
}

func newChanging(t *testing.T, b *bucket, f form, sizes []int64, seed uint64) *changing {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	c := &changing{
		bucket: b, form: f, ctx: t.Context(), random: rand.New(rand.NewPCG(seed, 1)), fill: rand.NewChaCha8(key),
		bodies: map[string][]byte{}, replaced: map[string]int{},
	}
	var group errgroup.Group
	group.SetLimit(4)
	for i, size := range sizes {
		key, body := fmt.Sprintf("part-%03d", i), c.body(size)
		c.bodies[key] = body
		group.Go(func() error { return b.put(t.Context(), key, f.store(body)) })
	}
	require.NoError(t, group.Wait())
	return c
}

func (c *changing) body(size int64) []byte {
	body := make([]byte, size)
	c.fill.Read(body)
	return body
}

// list lists the objects, without the proxy.
func (c *changing) list(ctx context.Context) (listing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, err := s3stream.List(ctx, c.bucket.client, "s3://"+c.bucket.name)
	if err == nil {
		err = c.err
	}
	return listing{c.version, objects, maps.Clone(c.bodies)}, err
}

// replace puts other bytes in place of an object, as many or not.
func (c *changing) replace(_, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(c.bodies[key]))
	if c.random.IntN(2) == 0 {
		size = c.random.Int64N(2*size + 1)
	}
	body := c.body(size)
	if err := c.bucket.put(c.ctx, key, c.form.store(body)); err != nil {
		c.err = fmt.Errorf("replace %s: %w", key, err)
		return
	}
	c.version++
	c.bodies[key], c.replaced[key] = body, c.version
}

// changed says whether an object was replaced after a version.
func (c *changing) changed(key string, version int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replaced[key] > version
}

// find returns where an object lies among those listed, and its size.
func (l listing) find(key string) (start, size int64, found bool) {
	for _, o := range l.objects {
		if o.Key == key {
			return start, o.Size, true
		}
		start += o.Size
	}
	return 0, 0, false
}
