package s3stream

import (
	"slices"
	"sync"
	"time"
)

// A pace is how fast a Source has found S3 to be, and what follows: how many
// requests at a time, how large, and when one is too slow. It lasts over epochs.
//
// The number of requests grows, twofold at first and then by a quarter, as long
// as the reader waits for S3 and the last growth raised the throughput; it is
// halved when S3 asks for less. Requests are as large as it takes for the wait
// before the first byte to be a small part of their time.
//
// The memory is what the requests need. While the reader does not wait, they
// become fewer, down to what its rate needs: of fewer bytes that are held, more
// are still in the processor's cache when they are delivered.
type pace struct {
	opts Options

	mu       sync.Mutex
	requests int    // at a time
	depth    int    // parts in memory for each of them: one that runs, others that wait to be delivered
	first    window // seconds until the first byte of an answer
	rate     window // bytes per second from there on

	last     sample // at the last tick
	mark     sample // where the measuring of a rate began; zero when none does
	best     float64
	before   int  // requests before the growth that is on trial; 0 when none is
	wait     int  // ticks until that is looked at, or until the next one
	doubling bool // nothing has spoken against growth yet

	pipes                  int     // readers that bytes could be moved to
	never                  bool    // answers cannot be moved
	calm                   int     // ticks in a row in which the reader did not wait
	moving                 bool    // answers are left in their sockets, for the kernel to move
	copying                float64 // bytes per second that were delivered before
	judge, refrain, failed int     // ticks until that is judged, and until it is tried again; how often it was no good
}

// A sample is what counts were at a moment.
type sample struct {
	at                 time.Time
	fetched, delivered int64 // bytes
	moved              int64 // of delivered
	throttled          int64
	waited             time.Duration // for S3
	full               time.Duration // that memory was, with requests to be made
}

const (
	tick            = 50 * time.Millisecond
	initialRequests = 16
	settling        = 2  // ticks that a growth takes to show, besides the waits below
	settlingWaits   = 4  // waits for the first byte
	measuring       = 2  // ticks that a rate is averaged over
	contentment     = 40 // ticks before the next try when one brought nothing

	initialPart = 2 << 20
	minPart     = 1 << 20
	maxPart     = 32 << 20
	maxMoved    = 8 << 20 // of a part that is moved
	movedAhead  = 4       // of those at a time
	calmGrowth  = 4       // ticks without waiting after which parts that are moved are twice as large
	maxDepth    = 16
	partWaits   = 8 // the time of a part, in waits for its first byte
)

func newPace(opts Options) *pace {
	return &pace{
		opts: opts, requests: min(initialRequests, opts.Concurrency), depth: 1, doubling: true, wait: settling,
	}
}

// window is how many blocks may be taken.
func (p *pace) window() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.memory()
}

// memory is what the requests want, within the budget. The caller holds the lock.
func (p *pace) memory() int {
	blocks := int64(p.requests) * int64(p.depth) * p.wanted() / p.opts.blockSize()
	return int(min(max(blocks, int64(p.opts.leastBlocks())), int64(p.opts.blockCount())))
}

// share is how many of the blocks one request gets.
func (p *pace) share() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.partBlocks()
}

// partBlocks is how many blocks a part gets. The caller holds the lock.
func (p *pace) partBlocks() int {
	share := p.memory() / p.requests
	return max(1, share/p.depth, min(share, int(minPart/p.opts.blockSize())))
}

// limit is how many requests may run at a time. Of answers that are moved, few wait.
func (p *pace) limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moving && p.judge == 0 {
		return min(p.requests, movedAhead)
	}
	return p.requests
}

// partSize is the size of the next parts.
func (p *pace) partSize() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.part()
}

// part is such that a request's share of the memory holds it. The caller holds the lock.
func (p *pace) part() int64 {
	switch {
	case p.opts.PartSize > 0:
		return p.opts.PartSize
	case p.moving && p.judge == 0: // they take no memory; if S3 becomes slow, little must be left to it
		return min(int64(initialPart)<<min(p.calm/calmGrowth, 4), maxMoved)
	}
	return min(p.wanted(), int64(p.partBlocks())*p.opts.blockSize())
}

// wanted is the size of a part by what was measured, and such that there is
// memory for as many as there may be requests: more of them bring more than
// larger ones. The caller holds the lock.
func (p *pace) wanted() int64 {
	if p.opts.PartSize > 0 {
		return p.opts.PartSize
	}
	size := int64(initialPart)
	if p.rate.full() {
		size = int64(partWaits * p.first.quantile(0.1) * p.rate.quantile(0.5)) // slower ones wait for a processor, or their turn
	}
	return min(max(size, minPart), max(minPart, p.opts.ReadAhead/int64(p.opts.Concurrency)), maxPart)
}

// answered is told of a request that ended well.
func (p *pace) answered(w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := time.Duration(w.first.Load())
	p.first.add(first.Seconds())
	if n := w.bytes.Load(); n >= enough && !w.rested.Load() {
		p.rate.add(float64(n) / max(time.Since(w.asked)-first, time.Microsecond).Seconds())
	}
}

// slow says whether a request is far slower than most. It does not know
// before it has seen many.
func (p *pace) slow(w *watch, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := time.Duration(w.first.Load())
	if first == 0 {
		return p.first.full() && now.Sub(w.asked) > max(p.opts.Slow, time.Duration(4*p.first.quantile(0.95)*1e9))
	}
	since := now.Sub(w.asked) - first
	return p.rate.full() && since > p.opts.Slow && !w.rested.Load() &&
		float64(w.bytes.Load())/since.Seconds() < p.rate.quantile(0.5)/8
}

// adapt sets requests and memory by what has happened since the last tick.
func (p *pace) adapt(now sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last
	elapsed := now.at.Sub(last.at)
	if elapsed < tick*9/10 { // another epoch's tick
		return
	}
	p.last = now
	if last.at.IsZero() || elapsed > 10*tick { // nobody looked
		return
	}
	perSecond := func(bytes int64) float64 { return float64(bytes) / elapsed.Seconds() }
	waiting := now.waited - last.waited
	starved := waiting > elapsed/10
	if starved && now.full-last.full > elapsed/2 {
		p.depth = min(2*p.depth, maxDepth) // a slow part holds up the others
	}
	if now.fetched > 0 {
		p.choose(waiting > elapsed/2, now.moved > last.moved, perSecond(now.delivered-last.delivered))
	}
	switch {
	case now.throttled > last.throttled:
		p.requests, p.before, p.doubling, p.wait = max(1, p.requests/2), 0, false, contentment
	case now.fetched == 0: // too early to tell
	case starved && !p.moving: // what is ahead of a move waits in the sockets
		p.grow(now)
	default:
		p.before, p.mark, p.wait = 0, sample{}, max(0, p.wait-1)
		p.relax(perSecond(now.delivered - last.delivered))
	}
}

// choose decides whether answers are moved or copied into memory. Moving is tried
// at first, and when the reader rarely waits for S3; it goes on until the reader
// waits most of the time and gets less than it did by copying.
func (p *pace) choose(starving, moved bool, rate float64) {
	switch {
	case starving:
		p.calm = 0
	case !p.moving || moved:
		p.calm++
	}
	p.refrain = max(0, p.refrain-1)
	switch {
	case p.pipes == 0:
		p.moving, p.copying = false, 0
	case !p.moving:
		p.copying = max(rate, 0.9*p.copying)
		if p.calm >= 2 && p.refrain == 0 && !p.never {
			p.moving, p.judge, p.calm = true, settling+1, 0
		}
	case p.judge > 1:
		if moved || starving { // and not what was copied before
			p.judge--
		}
	case starving && (p.copying == 0 || rate < p.copying):
		p.moving, p.copying, p.calm = false, 0, 0
		p.refrain = settling << min(2*p.failed, 14)
		p.failed++
	case moved:
		p.judge = 0
	}
}

// pipe is told of n more readers that bytes could be moved to.
func (p *pace) pipe(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pipes += n
	if n > 0 && p.copying == 0 && !p.never { // nothing speaks against it yet
		p.moving, p.judge, p.calm = true, settling+1, 0
	}
	p.moving = p.moving && p.pipes > 0
}

// refuse has no answers moved any more.
func (p *pace) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.never, p.moving = true, false
}

// proven says that answers are moved, and that this is no trial.
func (p *pace) proven() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moving && p.judge == 0
}

// direct says whether answers should be left in their sockets.
func (p *pace) direct() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moving
}

// grow tries more requests at a time, and takes that back if they bring nothing:
// if the rate, once it has settled, is not above what it was.
func (p *pace) grow(now sample) {
	if p.wait--; p.wait >= 0 {
		return
	}
	if p.mark.at.IsZero() {
		p.mark = now
	}
	span := now.at.Sub(p.mark.at)
	if span < measuring*tick*9/10 {
		return
	}
	rate := float64(now.fetched-p.mark.fetched) / span.Seconds()
	p.mark = sample{}
	switch {
	case p.before > 0 && rate < 1.05*p.best:
		p.requests, p.before, p.doubling, p.wait = p.before, 0, false, contentment
	case p.requests == p.opts.Concurrency:
		p.before = 0 // the last growth was worth it
	default:
		p.best, p.before, p.wait = rate, p.requests, p.settle()
		growth := max(1, p.requests/4)
		if p.doubling {
			growth = p.requests
		}
		p.requests = min(p.requests+growth, p.opts.Concurrency)
	}
}

// settle is how many ticks a growth takes to show: connections begin, requests
// are sent, and TCP finds its speed.
func (p *pace) settle() int {
	if p.first.n == 0 {
		return settling
	}
	return settling + min(int(settlingWaits*p.first.quantile(0.5)/tick.Seconds()), contentment)
}

// relax goes slowly towards twice the requests that the reader's rate takes by
// Little's law.
func (p *pace) relax(rate float64) {
	if !p.rate.full() {
		return
	}
	part := float64(p.part())
	inFlight := rate * (p.first.quantile(0.95) + part/p.rate.quantile(0.5))
	p.requests = max(p.requests-1, min(p.requests, 2+int(2*inFlight/part)))
	p.depth = max(1, p.depth-1)
}

// A window is the last few of many measurements.
type window struct {
	values [32]float64
	n      int
}

func (w *window) add(v float64) {
	w.values[w.n%len(w.values)] = v
	w.n++
}

// full says whether there are enough to go by.
func (w *window) full() bool { return w.n >= len(w.values)/2 }

// quantile returns the value that a share q of them do not exceed.
func (w *window) quantile(q float64) float64 {
	sorted := w.values
	n := min(w.n, len(sorted))
	slices.Sort(sorted[:n])
	return sorted[min(n-1, int(q*float64(n)))]
}
