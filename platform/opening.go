package platform

import (
	"sync/atomic"
	"time"
)

// An opening is that of a pipe by its reader. A pipe is for one reader; a second is noted.
type opening struct {
	total *atomic.Int64 // of the channel
	done  chan struct{} // closed at the first
	at    time.Time     // of the first, once done is closed
	again atomic.Bool
}

func newOpening(total *atomic.Int64) *opening {
	return &opening{total: total, done: make(chan struct{})}
}

// happen is called by one goroutine.
func (o *opening) happen() {
	o.total.Add(1)
	if o.happened() {
		o.again.Store(true)
		return
	}
	o.at = time.Now()
	close(o.done)
}

func (o *opening) happened() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}
