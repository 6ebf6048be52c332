package faultproxy

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
)

// A Fault is a way in which a request fails. Where an answer is not of the kind that a fault needs,
// such as for a FlipByte that no checksum would tell, the request is served as if nothing were.
type Fault int

const none Fault = 0

// The faults.
const (
	InternalError Fault = iota + 1 // answers 500
	SlowDown                       // answers 503
	ExpiredToken                   // answers 400 to these credentials, from now on
	Reset                          // resets the connection before the answer
	Silence                        // brings no answer until the client leaves

	CutBody    // closes the connection in the body
	ResetBody  // resets it there
	StallBody  // brings nothing more from there until the client leaves
	Trickle    // brings a few bytes at a time, for a while
	FlipByte   // changes a byte of a body that has a checksum
	Replace    // replaces the object in the middle of its body, which may end there
	NoSuchHost // fails to resolve the name, with DialContext

	ShortLength // announces a shorter body and brings that
	LongLength  // announces a longer body and brings the right one
	LongBody    // announces a longer body and brings it
	ShortChunks // announces no length and ends early, without a sign of it
	LongChunks  // announces no length and brings too much
	WrongRange  // brings bytes from one further in the object, and says so
	NoRange     // brings as many bytes of the object, from elsewhere, and says no range
	faults
)

var faultNames = [faults]string{
	"none", "InternalError", "SlowDown", "ExpiredToken", "Reset", "Silence",
	"CutBody", "ResetBody", "StallBody", "Trickle", "FlipByte", "Replace", "NoSuchHost",
	"ShortLength", "LongLength", "LongBody", "ShortChunks", "LongChunks", "WrongRange", "NoRange",
}

func (f Fault) String() string { return faultNames[f] }

// isAnswer says whether a fault takes the place of the server's answer.
func (f Fault) isAnswer() bool { return f <= Silence }

// All returns every fault.
func All() []Fault {
	var all []Fault
	for f := none + 1; f < faults; f++ {
		all = append(all, f)
	}
	return all
}

// Without returns every fault but some.
func Without(unwanted ...Fault) []Fault {
	var kept []Fault
	for _, f := range All() {
		if !slices.Contains(unwanted, f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// A failure is what is to happen to one request.
type failure struct {
	proxy   *Proxy
	request *http.Request
	fault   Fault
	random  *rand.Rand
}

// choose counts a request and draws what happens to it.
func (p *Proxy) choose(r *http.Request) *failure {
	p.mu.Lock()
	p.count++
	p.mu.Unlock()
	f := &failure{proxy: p, request: r, random: p.draw(r.URL.Path + " " + r.Header.Get("Range"))}
	if f.random.Float64() < p.opts.Rate {
		f.fault = p.opts.Faults[f.random.IntN(len(p.opts.Faults))]
	}
	return f
}

// draw returns the generator for the next time that something is asked for.
func (p *Proxy) draw(what string) *rand.Rand {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[what]++
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %d", what, p.asked[what])
	return rand.New(rand.NewPCG(p.seed, hash.Sum64()))
}
