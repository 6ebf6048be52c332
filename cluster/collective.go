package cluster

import (
	"context"
	"encoding/binary"
	"errors"
)

// chunks returns in how many data frames so many bytes go: at least one.
func chunks(bytes int) int { return max(1, (bytes+chunkSize-1)/chunkSize) }

// part returns chunk i of the numbers.
func (c call) part(i int) []byte {
	from := i * chunkSize
	return c.memory[from:min(len(c.memory), from+chunkSize)]
}

// appendData appends the data frame of chunk i that a host other than the leader contributes.
func (c call) appendData(dst []byte, i, rank int) []byte {
	switch {
	case c.op == allReduce, c.op == broadcast && c.root == rank:
		return appendFrame(dst, kindData, c.part(i))
	case c.op == gather:
		from := i * chunkSize
		part := c.message[from:min(len(c.message), from+chunkSize)]
		return appendFrame(dst, kindData, part)
	}
	return appendHeader(dst, kindData, 0)
}

// takePart is a collective on a host other than the leader: it sends chunks, a window ahead of the
// answers to them.
func (s *star) takePart(ctx context.Context, c call) error {
	leader := s.links[0]
	claim := c.claim(s.number)
	s.out = claim.append(appendHeader(s.out[:0], kindCall, binary.Size(claim)))
	sent, n := 0, chunks(len(c.memory)+len(c.message))
	for answered := range n {
		for ; sent < min(n, answered+window); sent++ {
			s.out = c.appendData(s.out, sent, s.rank)
			if err := s.send(ctx, leader, s.out); err != nil {
				return err
			}
			s.out = s.out[:0]
		}
		f, err := s.next(ctx, leader, kindData)
		if err != nil {
			return err
		}
		var result []byte
		if c.op == allReduce || c.op == broadcast && c.root != s.rank {
			result = c.part(answered)
		}
		if len(f.payload) != len(result) {
			return s.lose(leader, errLength)
		}
		copy(result, f.payload)
		leader.recycle(f)
	}
	return nil
}

var errLength = errors.New("it sent a chunk of another length than was due")

// combine is a collective on the leader whose numbers all have the same length.
func (s *star) combine(ctx context.Context, c call) error {
	if _, err := s.agree(ctx, c); err != nil {
		return err
	}
	for i := range chunks(len(c.memory)) {
		part := c.part(i)
		for _, l := range s.links {
			if err := s.takeIn(ctx, c, part, l); err != nil {
				return err
			}
		}
		if err := s.answer(ctx, c, part); err != nil {
			return err
		}
	}
	return nil
}

// agree waits until all hosts have called a collective and returns their claims, by rank, which agree
// with the leader's.
func (s *star) agree(ctx context.Context, c call) ([]claim, error) {
	claims := []claim{c.claim(s.number)}
	for _, l := range s.links {
		f, err := s.next(ctx, l, kindCall)
		if err != nil {
			return nil, err
		}
		theirs, err := parseClaim(f.payload)
		l.recycle(f)
		if err != nil {
			return nil, s.lose(l, err)
		}
		if err := claims[0].differs(s.hosts[0], theirs, l.host); err != nil {
			s.shut(err, abortFrame(err))
			return nil, s.err
		}
		claims = append(claims, theirs)
	}
	return claims, nil
}

// takeIn waits for a host's chunk and takes it into the leader's.
func (s *star) takeIn(ctx context.Context, c call, part []byte, l *link) error {
	f, err := s.next(ctx, l, kindData)
	if err != nil {
		return err
	}
	due := 0
	root := c.op == broadcast && c.root > 0 && s.links[c.root-1] == l
	if c.op == allReduce || root {
		due = len(part)
	}
	if len(f.payload) != due {
		return s.lose(l, errLength)
	}
	switch {
	case root:
		copy(part, f.payload)
	case c.op == allReduce:
		c.reduce(part, f.payload)
	}
	l.recycle(f)
	return nil
}

// answer sends the result's chunk to every host; an empty one to who has it, or wants none.
func (s *star) answer(ctx context.Context, c call, part []byte) error {
	s.out = appendFrame(s.out[:0], kindData, part)
	for i, l := range s.links {
		frame := s.out
		if c.op == broadcast && c.root == i+1 {
			frame = empty
		}
		if err := s.send(ctx, l, frame); err != nil {
			return err
		}
	}
	return nil
}

var empty = appendHeader(nil, kindData, 0)

// collect is Gather on the leader. Memory grows with what has come.
func (s *star) collect(ctx context.Context, c call) ([][]byte, error) {
	claims, err := s.agree(ctx, c)
	if err != nil {
		return nil, err
	}
	gathered := [][]byte{c.message}
	for i, l := range s.links {
		message, err := s.collectFrom(ctx, l, int(claims[i+1].Length))
		if err != nil {
			return nil, err
		}
		gathered = append(gathered, message)
	}
	return gathered, nil
}

func (s *star) collectFrom(ctx context.Context, l *link, length int) ([]byte, error) {
	message := []byte{}
	for range chunks(length) {
		f, err := s.next(ctx, l, kindData)
		if err != nil {
			return nil, err
		}
		if len(f.payload) != min(chunkSize, length-len(message)) {
			return nil, s.lose(l, errLength)
		}
		message = append(message, f.payload...)
		l.recycle(f)
		if err := s.send(ctx, l, empty); err != nil {
			return nil, err
		}
	}
	return message, nil
}
