package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An op is a kind of collective.
type op byte

const (
	barrier op = iota
	broadcast
	allReduce
	reduceScatter
	gather
	allGather
	ops
)

func (o op) String() string {
	return [ops]string{"Barrier", "Broadcast", "AllReduce", "ReduceScatter", "Gather", "AllGather"}[o]
}

// gathers reports whether a collective is of messages, which may differ in length.
func (o op) gathers() bool { return o == gather || o == allGather }

// messageLimit is the length of the longest message that is gathered.
const messageLimit = 1 << 30

// A call is a host's part in a collective.
type call struct {
	op      op
	root    int    // of a broadcast
	vector         // the host's own, replaced by the result
	message []byte // to be gathered
}

// length returns how many numbers, or bytes of the message, there are.
func (c call) length() int { return c.vector.length() + len(c.message) }

func (c call) claim(number uint64) claim {
	return claim{Number: number, Op: c.op, Element: c.element, Reduction: c.reduction, Root: uint32(c.root), Length: uint64(c.length())}
}

// gives reports whether the host of a rank brings numbers.
func (c call) gives(rank int) bool { return c.op != broadcast || c.root == rank }

// A claim is what a call says of itself to the other hosts.
type claim struct {
	Number    uint64 // of the collective, from 1
	Op        op
	Element   element
	Reduction Op
	Zero      byte // so that what follows begins at a multiple of 8
	Root      uint32
	Length    uint64
}

// differs returns an error that names both hosts where theirs, of host, is another collective than c,
// of the leader.
func (c claim) differs(leader string, theirs claim, host string) error {
	at := fmt.Sprintf("cluster: collective %d", c.Number)
	switch {
	case c.Number != theirs.Number:
		return fmt.Errorf("%s: host %s is at collective %d, host %s at %d", at, host, theirs.Number, leader, c.Number)
	case c.Op != theirs.Op:
		return fmt.Errorf("%s: host %s calls %v, host %s %v", at, host, theirs.Op, leader, c.Op)
	case c.Root != theirs.Root:
		return fmt.Errorf("%s: Broadcast: host %s expects it from rank %d, host %s from %d", at, host, theirs.Root, leader, c.Root)
	case c.Element != theirs.Element:
		return fmt.Errorf("%s: %v: host %s has %v, host %s %v", at, c.Op, host, theirs.Element, leader, c.Element)
	case c.Reduction != theirs.Reduction:
		return fmt.Errorf("%s: %v: host %s asks for the %v, host %s for the %v", at, c.Op, host, theirs.Reduction, leader, c.Reduction)
	case !c.Op.gathers() && c.Length != theirs.Length:
		return fmt.Errorf("%s: %v: host %s has %d numbers, host %s %d", at, c.Op, host, theirs.Length, leader, c.Length)
	}
	return nil
}

// claimSize is the length of a claim in a frame. What a host brings may follow it.
const claimSize = 24

// head returns the beginning of the frame that tells a claim, which so many bytes follow.
func (c claim) head(rest int) []byte {
	head, _ := binary.Append(appendHeader(nil, kindCall, claimSize+rest), binary.LittleEndian, c) // of fixed size
	return head
}

var errClaim = errors.New("it sent a call that is none")

func parseClaim(payload []byte) (c claim, err error) {
	_, err = binary.Decode(payload, binary.LittleEndian, &c)
	if err != nil || c.Zero != 0 || c.Op >= ops || c.Element >= elements || c.Reduction >= reductions || c.Op.gathers() && c.Length > messageLimit {
		return claim{}, errClaim
	}
	return c, nil
}
