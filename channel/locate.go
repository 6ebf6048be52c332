package channel

import (
	"sort"
	"sync"
)

// A Locator knows which of its parts, files or objects, a byte of the stream comes from. Where
// the reader that a Source opens is one, errors name the part. Locate may be called while another
// goroutine reads. It returns "" where it does not know.
type Locator interface {
	Locate(offset int64) (name string, at int64)
}

func locate(r any, offset int64) (name string, at int64) {
	if l, ok := r.(Locator); ok && offset >= 0 {
		return l.Locate(offset)
	}
	return "", 0
}

// A partName is the Locator of a part that is one file.
type partName string

func (n partName) Locate(offset int64) (string, int64) { return string(n), offset }

// spans are the parts of a stream that follow one another.
type spans struct {
	mu    sync.Mutex
	begin []int64 // in ascending order
	part  []any   // a Locator, where the part is one
}

// add appends a part that begins at an offset, which is not before the part added last.
func (s *spans) add(begin int64, part any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin, s.part = append(s.begin, begin), append(s.part, part)
}

// Locate returns the place in the last part that begins at offset or before.
func (s *spans) Locate(offset int64) (name string, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.begin), func(i int) bool { return s.begin[i] > offset }) - 1
	if i < 0 {
		return "", 0
	}
	return locate(s.part[i], offset-s.begin[i])
}
