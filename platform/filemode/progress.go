package filemode

import "sync"

// A progress counts bytes for whoever wants to know.
type progress struct {
	report      func(done, total int64) // nil for nobody
	mu          sync.Mutex
	done, total int64
}

func (p *progress) add(n int64) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.report(p.done, p.total)
}
