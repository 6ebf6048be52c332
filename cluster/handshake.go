package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// A hello is who dials.
type hello struct {
	Job, Attempt, Host string
	Rank, Size         int
}

func (s *star) hello() hello {
	return hello{clip(s.opts.Job), clip(s.opts.Attempt), clip(s.hosts[s.rank]), s.rank, len(s.hosts)}
}

// A refusal is why a host is not taken in.
type refusal struct {
	Reason string
	Final  bool // it need not try again
}

// check returns why the leader does not take in who says h; nil where it may. A host of another
// attempt may be on its way out, and its successor is to come.
func (s *star) check(h hello) *refusal {
	switch {
	case h.Job != clip(s.opts.Job):
		return &refusal{Reason: "it leads another job"}
	case h.Attempt != clip(s.opts.Attempt):
		return &refusal{Reason: "it leads another attempt of the job"}
	case h.Size != len(s.hosts) || h.Rank < 1 || h.Rank >= len(s.hosts) || h.Host != clip(s.hosts[h.Rank]):
		return &refusal{Reason: fmt.Sprintf("its list of hosts has %d, and host %.100q is not its number %d", len(s.hosts), h.Host, h.Rank), Final: true}
	}
	return nil
}

var errStranger = errors.New("no host of a cluster")

// readHello is the leader's part of the handshake until it knows who is there. A stranger gets no
// answer.
func readHello(conn net.Conn) (h hello, err error) {
	var preface [len(magic) + 1]byte
	if _, err := io.ReadFull(conn, preface[:]); err != nil || string(preface[:len(magic)]) != magic {
		return h, errStranger
	}
	if theirs := preface[len(magic)]; theirs != version {
		conn.Write(textFrame(kindRefused, refusal{Reason: fmt.Sprintf("it speaks version %d of the protocol, not %d", version, theirs), Final: true}))
		return h, errStranger
	}
	f, err := readFrame(conn, nil)
	if err != nil || f.kind != kindHello {
		return h, errStranger
	}
	return parseText[hello](f.payload)
}

// waits reports whether a host that has introduced itself still waits for the answer. One that got none in time, as this
// process was stopped or the door was crowded, has hung up and dials again: taken in, it would be lost at once.
func waits(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1)) // it says nothing meanwhile
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// A refusedError is what a host gets that is not taken in.
type refusedError struct{ refusal }

func (e *refusedError) Error() string { return e.Reason }

// join dials the leader and introduces this host.
func (s *star) join(ctx context.Context) (*link, error) {
	dialer := net.Dialer{Timeout: min(5*time.Second, s.opts.Silence)}
	conn, err := dialer.DialContext(ctx, "tcp", s.opts.address(s.hosts[0]))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = s.introduce(conn)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return newLink(conn, s.hosts[0], s.opts), nil
}

func (s *star) introduce(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(s.opts.Silence))
	preface := append([]byte(magic), version)
	if _, err := conn.Write(append(preface, textFrame(kindHello, s.hello())...)); err != nil {
		return err
	}
	f, err := readFrame(conn, nil)
	switch {
	case err != nil:
		return fmt.Errorf("no answer: %w", err)
	case f.kind == kindWelcome:
		return nil
	case f.kind != kindRefused:
		return errBadFrame
	}
	r, err := parseText[refusal](f.payload)
	if err != nil {
		return err
	}
	return &refusedError{r}
}
