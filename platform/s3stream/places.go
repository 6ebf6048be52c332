package s3stream

import (
	"fmt"
	"sort"
	"sync"
)

// places remember where in the stream the last objects begin.
type places struct {
	mu     sync.Mutex
	at     int64 // bytes of the stream so far
	starts []start
}

// A start is the byte of the stream where an object begins.
type start struct {
	offset int64
	object *Object
}

// placesKept bounds the memory; half of them go when it is reached.
const placesKept = 8192

func (p *places) add(item Item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.starts) == placesKept {
		p.starts = append(p.starts[:0], p.starts[placesKept/2:]...)
	}
	p.starts = append(p.starts, start{p.at, item.Object})
}

func (p *places) advance(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at += int64(n)
}

func (p *places) locate(offset int64) (name string, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := sort.Search(len(p.starts), func(i int) bool { return p.starts[i].offset > offset }) - 1
	if i < 0 || offset > p.at || p.starts[i].object == nil {
		return "", 0
	}
	o := p.starts[i].object
	return fmt.Sprintf("s3://%s/%s", o.Bucket, o.Key), offset - p.starts[i].offset
}
