package fastfile

import "container/list"

// A block is bytes of a file: Options.Block of them, fewer at its end. It is
// in the cache from the moment it is asked for.
type block struct {
	id   blockID
	size int
	done chan struct{} // closed when data or err is set
	data []byte
	err  error

	pins  int           // readers that wait for it or read it; guarded by cache.mu
	list  *list.List    // of idle blocks, nil while it is pinned or empty; guarded by cache.mu
	place *list.Element // in list
}

// A blockID is a file and the number of a block in it, from 0.
type blockID struct {
	file  *node
	index int64
}

func (b *block) ready() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}
