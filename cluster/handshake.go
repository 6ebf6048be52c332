package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// A handshake is hello, challenge, proof, and a welcome or a refusal. Both sides prove that they know the
// secret, the one that dials first, so that a stranger learns nothing; without a secret it is the empty one.

// A hello is who dials.
type hello struct {
	Job, Attempt, Host string
	Rank, Size         int
	To                 int    // the rank that is dialled
	Port               int    // where the host that dials listens; 0 of the leader, which dials nobody
	Order              string // of the bytes of a number
}

// hello returns how this host introduces itself to the host of a rank.
func (m *mesh) hello(to, port int) hello {
	return hello{clip(m.opts.Job), clip(m.opts.Attempt), clip(m.hosts[m.rank]), m.rank, len(m.hosts), to, port, byteOrder}
}

var byteOrder = func() string {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return "little endian"
	}
	return "big endian"
}()

// A challenge is what the proofs of a handshake are about, beside the hello.
type challenge struct{ Nonce []byte }

// A proof shows that a host knows the secret.
type proof struct{ MAC []byte }

// A party is one side's part in the proofs.
type party string

const (
	dials   party = "algospec cluster: dials"
	answers party = "algospec cluster: answers"
)

// prove returns a party's proof. The challenge has a fixed length, so no two handshakes read alike.
func prove(secret string, who party, challenge challenge, hello []byte) proof {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(who))
	mac.Write(challenge.Nonce)
	mac.Write(hello)
	return proof{mac.Sum(nil)}
}

func (p proof) equals(other proof) bool { return hmac.Equal(p.MAC, other.MAC) }

const nonceSize = 32

// A refusal is why a host is not taken in. The proof is that of a welcome.
type refusal struct {
	Reason string
	Final  bool // it need not try again
	Proof  proof
}

// check returns why this host does not take in who says h; nil where it may. A host of another
// attempt may be on its way out, and its successor is to come.
func (m *mesh) check(h hello) *refusal {
	is := "is in"
	if m.rank == 0 {
		is = "leads"
	}
	switch {
	case h.Job != clip(m.opts.Job):
		return &refusal{Reason: "it " + is + " another job"}
	case h.Attempt != clip(m.opts.Attempt):
		return &refusal{Reason: "it " + is + " another attempt of the job"}
	case h.Size != len(m.hosts) || h.Rank <= m.rank || h.Rank >= len(m.hosts) || h.Host != clip(m.hosts[h.Rank]):
		return &refusal{Reason: fmt.Sprintf("its list of hosts has %d, and host %.100q is not its number %d", len(m.hosts), h.Host, h.Rank), Final: true}
	case h.To != m.rank:
		return &refusal{Reason: fmt.Sprintf("it is number %d of the hosts, not %d", m.rank, h.To)}
	case h.Order != byteOrder:
		return &refusal{Reason: fmt.Sprintf("its numbers are %s, not %.30s", byteOrder, h.Order), Final: true}
	}
	return nil
}

var errStranger = errors.New("no host of a cluster")

// A guest is a host that has introduced itself and proved that it knows the secret.
type guest struct {
	conn   net.Conn
	hello  hello
	answer proof // that this host knows it too
}

// receive is this host's part of the handshake until it knows who is there. A stranger gets no answer.
func receive(conn net.Conn, secret string) (guest, error) {
	var preface [len(magic) + 1]byte
	if _, err := io.ReadFull(conn, preface[:]); err != nil || string(preface[:len(magic)]) != magic {
		return guest{}, errStranger
	}
	if theirs := preface[len(magic)]; theirs != version {
		conn.Write(textFrame(kindRefused, refusal{Reason: fmt.Sprintf("it speaks version %d of the protocol, not %d", version, theirs), Final: true}))
		return guest{}, errStranger
	}
	said, err := readFrame(conn)
	if err != nil || said.kind != kindHello {
		return guest{}, errStranger
	}
	h, err := parseText[hello](said.payload)
	if err != nil {
		return guest{}, err
	}
	c := challenge{make([]byte, nonceSize)}
	rand.Read(c.Nonce) // never fails
	if _, err := conn.Write(textFrame(kindChallenge, c)); err != nil {
		return guest{}, err
	}
	proved, err := readFrame(conn)
	if err != nil || proved.kind != kindProof {
		return guest{}, errStranger
	}
	p, err := parseText[proof](proved.payload)
	if err != nil {
		return guest{}, err
	}
	if !p.equals(prove(secret, dials, c, said.payload)) {
		conn.Write(textFrame(kindRefused, refusal{Reason: "it has another secret"}))
		return guest{}, errSecret
	}
	return guest{conn, h, prove(secret, answers, c, said.payload)}, nil
}

var errSecret = errors.New("it has another secret")

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

// dial connects to the host of a rank, without a word.
func (m *mesh) dial(ctx context.Context, rank int, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: min(5*time.Second, m.opts.Silence), Control: persist}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil || m.opts.TLS == nil {
		return conn, err
	}
	config := m.opts.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = m.hosts[rank]
	}
	return tls.Client(conn, config), nil
}

// join introduces this host to the one of a rank, which listens at an address; port is where this host listens.
// The link is not one of the mesh's yet.
func (m *mesh) join(ctx context.Context, rank int, address string, port func(conn net.Conn) (int, error)) (*link, error) {
	conn, err := m.dial(ctx, rank, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	listens, err := port(conn)
	if err == nil {
		err = m.introduce(conn, m.hello(rank, listens))
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return newLink(conn, m.hosts[rank], rank, m.opts), nil
}

func (m *mesh) introduce(conn net.Conn, h hello) error {
	conn.SetDeadline(time.Now().Add(m.opts.Silence))
	hello := textFrame(kindHello, h)
	if _, err := conn.Write(append(append([]byte(magic), version), hello...)); err != nil {
		return err
	}
	f, err := readFrame(conn)
	switch {
	case err != nil:
		return fmt.Errorf("no answer: %w", err)
	case f.kind == kindRefused:
		return m.refused(f, proof{})
	case f.kind != kindChallenge:
		return errBadFrame
	}
	c, err := parseText[challenge](f.payload)
	if err != nil || len(c.Nonce) != nonceSize {
		return errBadFrame
	}
	said := hello[headerSize:]
	if _, err := conn.Write(textFrame(kindProof, prove(m.opts.Secret, dials, c, said))); err != nil {
		return err
	}
	want := prove(m.opts.Secret, answers, c, said)
	f, err = readFrame(conn)
	switch {
	case err != nil:
		return fmt.Errorf("no answer: %w", err)
	case f.kind == kindRefused:
		return m.refused(f, want)
	case f.kind != kindWelcome:
		return errBadFrame
	}
	if p, err := parseText[proof](f.payload); err != nil || !p.equals(want) {
		return errSecret
	}
	return nil
}

// refused returns the error of a refusal. One that comes without the proof due may be a stranger's: that is no
// reason to give up where there is a secret.
func (m *mesh) refused(f frame, want proof) error {
	r, err := parseText[refusal](f.payload)
	if err != nil {
		return err
	}
	r.Final = r.Final && (m.opts.Secret == "" || r.Proof.equals(want) && len(want.MAC) > 0)
	return &refusedError{r}
}
