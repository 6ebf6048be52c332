package faultproxy

import (
	"fmt"
	"slices"
)

// An Entry is one fault that happened.
type Entry struct {
	Request int    // requests for objects until then, this one included
	Path    string // of the object
	Range   string // that was asked for; "" means the whole object
	Fault   Fault
	At      int64 // the byte of the body
}

func (e Entry) String() string {
	return fmt.Sprintf("%d: %s %s: %v at byte %d", e.Request, e.Path, e.Range, e.Fault, e.At)
}

// Log returns what happened so far.
func (p *Proxy) Log() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Requests returns how many requests for objects came.
func (p *Proxy) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (f *failure) happens(at int64) {
	f.proxy.record(Entry{Path: f.request.URL.Path, Range: f.request.Header.Get("Range"), Fault: f.fault, At: at})
}

func (p *Proxy) record(e Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Request = p.count
	p.log = append(p.log, e)
}
