package cluster

import (
	"context"
	"errors"
	"time"
)

const (
	// directLimit is the length of numbers that go whole, with the call: to the other host, where there are two,
	// or by the leader. Segments are fewer bytes for each host, and more frames.
	directLimit = 16 << 10

	// lag is how many pieces a host is ahead with sending, of its contributions before it puts the first
	// together, and again before it takes the first result. What it sends until then has room without an answer.
	lag = 8
)

// An exchange is one collective on one host.
type exchange struct {
	*mesh
	call
	ctx    context.Context
	claim  claim
	claims []claim // of all hosts, by rank, once agreed
}

func (e *exchange) run() ([][]byte, error) {
	switch {
	case e.op == gather && e.rank == 0:
		return e.collect()
	case e.op == gather:
		return nil, e.deliver()
	case e.op == allGather:
		return e.swap()
	case e.op == reduceScatter || len(e.memory) > directLimit:
		return nil, e.segments()
	}
	if len(e.hosts) == 2 {
		return nil, e.direct()
	}
	return nil, e.star()
}

// put sends a frame, in parts, when the other host has room for it.
func (e *exchange) put(l *link, parts ...[]byte) error {
	select {
	case <-l.room:
	default:
		select {
		case <-l.room:
		case <-l.done:
			return e.over(l)
		case <-e.failed:
			return e.err
		}
	}
	if err := l.send(parts...); err != nil {
		return e.unsent(l, err)
	}
	return nil
}

// announceAll tells all other hosts what this one calls, with all that it brings where that is little.
func (e *exchange) announceAll(mine []byte) error {
	head := e.claim.head(len(mine))
	for _, l := range e.others() {
		if err := e.put(l, head, mine); err != nil {
			return err
		}
	}
	return nil
}

// piece sends a piece of numbers or of a message.
func (e *exchange) piece(l *link, p []byte) error {
	return e.put(l, appendHeader(make([]byte, 0, headerSize), kindData, len(p)), p)
}

// over is why nothing more comes from a link, or goes to it.
func (e *exchange) over(l *link) error {
	if l.err == errEnded {
		return e.missed(e.ctx, l)
	}
	return e.verdict()
}

// unsent is the end where a host cannot be sent to. It may have said why before it left.
func (e *exchange) unsent(l *link, err error) error {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-e.failed:
		return e.err
	case <-l.done:
		return e.over(l)
	case <-timer.C:
		e.lose(l, err)
		return e.verdict()
	}
}

// next returns the next frame of a link, which must be of the given kind. What has come counts even
// when the host is lost meanwhile.
func (m *mesh) next(ctx context.Context, l *link, want kind) (frame, error) {
	var f frame
	ok := true
	select {
	case f, ok = <-l.in:
	default:
		select {
		case f, ok = <-l.in:
		case <-m.failed:
			return frame{}, m.err
		}
	}
	switch {
	case !ok && l.err == errEnded:
		return frame{}, m.missed(ctx, l)
	case !ok:
		return frame{}, m.verdict()
	case f.kind != want:
		m.lose(l, errBadFrame)
		return frame{}, m.verdict()
	}
	return f, nil
}

// take returns the next piece, which must be of the given length; the caller recycles it.
func (e *exchange) take(l *link, length int) (frame, error) {
	f, err := e.next(e.ctx, l, kindData)
	if err == nil && len(f.payload) != length {
		e.lose(l, errLength)
		err = e.verdict()
	}
	return f, err
}

// fill takes the next piece into dst.
func (e *exchange) fill(l *link, dst []byte) error {
	f, err := e.take(l, len(dst))
	if err == nil {
		copy(dst, f.payload)
		l.recycle(f)
	}
	return err
}

var errLength = errors.New("it sent a piece of another length than was due")

// agree waits until another host has called a collective, and goes on where that is the same: with what that host
// brings, of the given length, in a frame that the caller recycles.
func (e *exchange) agree(l *link, length int) (claim, frame, error) {
	f, err := e.next(e.ctx, l, kindCall)
	if err != nil {
		return claim{}, frame{}, err
	}
	theirs, err := parseClaim(f.payload)
	if err != nil {
		e.lose(l, err)
		return claim{}, frame{}, e.verdict()
	}
	if err := e.compare(l, theirs); err != nil {
		return claim{}, frame{}, err
	}
	if f.payload = f.payload[claimSize:]; len(f.payload) != length {
		e.lose(l, errLength)
		return claim{}, frame{}, e.verdict()
	}
	return theirs, f, nil
}

// compare returns an error where another host calls another collective. What the error says is for the leader to
// say, so that it is the same on all hosts.
func (e *exchange) compare(l *link, theirs claim) error {
	err := e.claim.differs(e.hosts[0], theirs, l.host)
	switch {
	case err == nil:
		return nil
	case e.rank == 0:
		e.shut(err, abortFrame(err))
		return e.verdict()
	}
	select {
	case <-e.failed:
		return e.err
	case <-e.links[0].done:
		return e.over(e.links[0])
	}
}

// agreeOn is agree with a host that brings nothing yet.
func (e *exchange) agreeOn(l *link) (claim, error) {
	theirs, f, err := e.agree(l, 0)
	if err == nil {
		l.recycle(f)
	}
	return theirs, err
}

// agreeAll waits until all hosts have called the same collective.
func (e *exchange) agreeAll() error {
	e.claims = make([]claim, len(e.hosts))
	for rank, l := range e.links {
		if l == nil {
			e.claims[rank] = e.claim
			continue
		}
		var err error
		if e.claims[rank], err = e.agreeOn(l); err != nil {
			return err
		}
	}
	return nil
}

// star is a collective whose numbers the leader puts together. What it answers to a host's call is its own call, with
// the result: fewer frames in all than if every host sent its numbers to every other.
func (e *exchange) star() error {
	mine := e.brings(e.rank)
	if e.rank > 0 {
		leader := e.links[0]
		if err := e.put(leader, e.claim.head(len(mine)), mine); err != nil {
			return err
		}
		_, f, err := e.agree(leader, len(e.memory))
		if err == nil {
			copy(e.memory, f.payload)
			leader.recycle(f)
		}
		return err
	}
	if err := e.takeIn(mine); err != nil {
		return err
	}
	return e.announceAll(e.memory)
}

// brings returns what the host of a rank sends with its call, in length: on that host it is the numbers themselves.
func (e *exchange) brings(rank int) []byte {
	if !e.gives(rank) {
		return nil
	}
	return e.memory
}

// direct is a collective whose numbers every host sends to every other: each does the whole work.
func (e *exchange) direct() error {
	mine := e.brings(e.rank)
	if err := e.announceAll(mine); err != nil {
		return err
	}
	return e.takeIn(mine)
}

// takeIn waits for the calls of all other hosts and puts together what they bring.
func (e *exchange) takeIn(mine []byte) error {
	var total []byte
	for rank, l := range e.links {
		part := mine
		if l != nil {
			_, f, err := e.agree(l, len(e.brings(rank)))
			if err != nil {
				return err
			}
			defer l.recycle(f)
			part = f.payload
		}
		switch {
		case !e.gives(rank):
		case total == nil:
			total = part
		default:
			e.reduce(total, part)
		}
	}
	copy(e.memory, total)
	return nil
}

// segments is a collective of many numbers. Each host owns a share of them: the others send it their
// parts of that share, piece by piece; it puts them together in rank order and sends the result to all.
// What a host sends to another has one order, whatever the speed of either: piece i of a share goes before
// the result of piece i-lag of the sender's own.
func (e *exchange) segments() error {
	if err := e.announceAll(nil); err != nil {
		return err
	}
	steps := pieces(e.share(0, len(e.hosts))) // the first share is the longest
	for i := range steps + 2*lag {
		if err := e.contribute(i); err != nil {
			return err
		}
		if i == lag {
			if err := e.agreeAll(); err != nil {
				return err
			}
		}
		if err := e.settle(i - lag); err != nil {
			return err
		}
		if err := e.learn(i - 2*lag); err != nil {
			return err
		}
	}
	return nil
}

// pieces returns in how many frames a share, or a message, goes.
func pieces(share []byte) int { return (len(share) + chunkSize - 1) / chunkSize }

// piece returns piece i of a share; false where it has none.
func pieceOf(share []byte, i int) ([]byte, bool) {
	if i < 0 || i >= pieces(share) {
		return nil, false
	}
	return share[i*chunkSize : min(len(share), (i+1)*chunkSize)], true
}

func (e *exchange) pieceOfShare(rank, i int) ([]byte, bool) {
	return pieceOf(e.share(rank, len(e.hosts)), i)
}

// contribute sends piece i of each share to its owner.
func (e *exchange) contribute(i int) error {
	if !e.gives(e.rank) {
		return nil
	}
	for _, l := range e.others() {
		if p, ok := e.pieceOfShare(l.rank, i); ok {
			if err := e.piece(l, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle puts piece i of this host's own share together, in rank order, and sends it to who needs it.
func (e *exchange) settle(i int) error {
	own, ok := e.pieceOfShare(e.rank, i)
	if !ok {
		return nil
	}
	if err := e.gatherIn(own); err != nil {
		return err
	}
	for _, l := range e.others() {
		if e.op == reduceScatter || e.op == broadcast && e.root == l.rank {
			continue
		}
		if err := e.piece(l, own); err != nil {
			return err
		}
	}
	return nil
}

// gatherIn replaces a piece by what all hosts that give something make of it.
func (e *exchange) gatherIn(own []byte) error {
	var total []byte
	for rank, l := range e.links {
		if !e.gives(rank) {
			continue
		}
		part, done := own, func() {}
		if l != nil {
			f, err := e.take(l, len(own))
			if err != nil {
				return err
			}
			part, done = f.payload, func() { l.recycle(f) }
		}
		if total == nil {
			total = part
			defer done()
			continue
		}
		e.reduce(total, part)
		done()
	}
	copy(own, total)
	return nil
}

// learn takes the result of piece i of each other share.
func (e *exchange) learn(i int) error {
	if e.op == reduceScatter || e.op == broadcast && e.root == e.rank {
		return nil
	}
	for _, l := range e.others() {
		if p, ok := e.pieceOfShare(l.rank, i); ok {
			if err := e.fill(l, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver is Gather on a host other than the leader, which says when it has everything.
func (e *exchange) deliver() error {
	leader := e.links[0]
	if err := e.put(leader, e.claim.head(0)); err != nil {
		return err
	}
	for i := range pieces(e.message) {
		p, _ := pieceOf(e.message, i)
		if err := e.piece(leader, p); err != nil {
			return err
		}
	}
	if _, err := e.agreeOn(leader); err != nil {
		return err
	}
	return e.fill(leader, nil)
}

// collect is Gather on the leader. Memory grows with what has come.
func (e *exchange) collect() ([][]byte, error) {
	if err := e.announceAll(nil); err != nil {
		return nil, err
	}
	if err := e.agreeAll(); err != nil {
		return nil, err
	}
	gathered := e.gathered()
	for i := range e.longest() {
		if err := e.grow(gathered, i); err != nil {
			return nil, err
		}
	}
	for _, l := range e.others() {
		if err := e.piece(l, nil); err != nil {
			return nil, err
		}
	}
	return gathered, nil
}

// swap is AllGather. Memory grows with what has come.
func (e *exchange) swap() ([][]byte, error) {
	if err := e.announceAll(nil); err != nil {
		return nil, err
	}
	if err := e.agreeAll(); err != nil {
		return nil, err
	}
	gathered := e.gathered()
	for i := range e.longest() + lag {
		if p, ok := pieceOf(e.message, i); ok {
			for _, l := range e.others() {
				if err := e.piece(l, p); err != nil {
					return nil, err
				}
			}
		}
		if err := e.grow(gathered, i-lag); err != nil {
			return nil, err
		}
	}
	return gathered, nil
}

// gathered returns the messages before anything has come.
func (e *exchange) gathered() [][]byte {
	gathered := make([][]byte, len(e.hosts))
	for rank := range gathered {
		gathered[rank] = []byte{}
	}
	gathered[e.rank] = e.message
	return gathered
}

// longest returns in how many pieces the longest message comes.
func (e *exchange) longest() int {
	longest := 0
	for _, c := range e.claims {
		longest = max(longest, int(c.Length))
	}
	return (longest + chunkSize - 1) / chunkSize
}

// grow appends piece i of the other hosts' messages.
func (e *exchange) grow(gathered [][]byte, i int) error {
	if i < 0 {
		return nil
	}
	for _, l := range e.others() {
		left := int(e.claims[l.rank].Length) - i*chunkSize
		if left <= 0 {
			continue
		}
		f, err := e.take(l, min(left, chunkSize))
		if err != nil {
			return err
		}
		gathered[l.rank] = append(gathered[l.rank], f.payload...)
		l.recycle(f)
	}
	return nil
}
