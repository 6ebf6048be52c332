package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFramesAreReadHoweverTheyCome(t *testing.T) {
	stream := appendFrame(abortFrame(&LostError{"algo-2", errors.New("why")}), kindData, []byte{1, 2})
	for name, r := range map[string]io.Reader{
		"at once":       bytes.NewReader(stream),
		"byte by byte":  iotest.OneByteReader(bytes.NewReader(stream)),
		"in halves":     iotest.HalfReader(bytes.NewReader(stream)),
		"data with EOF": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			f, err := readFrame(r)
			require.NoError(t, err)
			a, err := parseText[abort](f.payload)
			require.NoError(t, err)
			require.EqualError(t, a.error(), "cluster: host algo-2 is lost: why")
			f, err = readFrame(r)
			require.NoError(t, err)
			require.Equal(t, kindData, f.kind)
			require.Equal(t, []byte{1, 2}, f.payload)
			_, err = readFrame(r)
			require.Equal(t, io.EOF, err)
		})
	}
}

func TestACutFrameIsAnUnexpectedEnd(t *testing.T) {
	stream := appendFrame(nil, kindData, make([]byte, 16))
	for n := 1; n < len(stream); n++ {
		_, err := readFrame(bytes.NewReader(stream[:n]))
		require.Equal(t, io.ErrUnexpectedEOF, err, "after %d bytes", n)
	}
}

func TestTextsFitTheirFramesWhateverJSONMakesOfThem(t *testing.T) {
	for _, c := range []string{"\x00", "\xff", "<", "é"} {
		long := strings.Repeat(c, 10_000)
		_, err := readFrame(bytes.NewReader(abortFrame(&LostError{long, errors.New(long)})))
		require.NoError(t, err)
		m := newMesh([]string{long, long + "x"}, 1, Options{Job: long, Attempt: long})
		_, err = readFrame(bytes.NewReader(textFrame(kindHello, m.hello(0, 1))))
		require.NoError(t, err)
	}
}

// FuzzFrames feeds what a stranger says, and what a host says that was taken in.
func FuzzFrames(f *testing.F) {
	introduction := append(append([]byte(magic), version), textFrame(kindHello, hello{Job: "job", Host: "algo-2", Rank: 1, Size: 2})...)
	called := call{op: allReduce, vector: vectorOf(make([]float64, 2))}.claim(1)
	f.Add(introduction)
	f.Add(append(introduction, textFrame(kindProof, proof{make([]byte, 32)})...))
	f.Add(called.head(0))
	f.Add(appendFrame(append([]byte(nil), bye...), kindData, make([]byte, 16)))
	f.Add(abortFrame(&LostError{"algo-2", errEnded}))
	f.Add(textFrame(kindAbort, abort{}))
	f.Add([]byte{byte(kindData), 0xff, 0xff, 0xff, 0xff})
	f.Add(append(roomFrame(1), roomFrame(1<<31)...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		if _, err := receive(reading{r: bytes.NewReader(stream)}, "secret"); err == nil {
			t.Fatal("a stranger guessed the proof")
		}
		l := newLink(reading{}, "algo-2", 1, Options{}.withDefaults())
		for r := bytes.NewReader(stream); ; {
			frame, err := readFrame(r)
			if err != nil {
				return
			}
			if len(frame.payload) > startLimit {
				t.Fatalf("a frame of %d bytes", len(frame.payload))
			}
			if err := l.sort(frame); err != nil && err.Error() == "" {
				t.Fatal("an abort without an error")
			}
			if frame.kind != kindCall {
				continue
			}
			if c, err := parseClaim(frame.payload); err == nil {
				if !bytes.Equal(c.head(0)[headerSize:], frame.payload[:claimSize]) {
					t.Fatalf("%x is read as %+v", frame.payload, c)
				}
				_ = called.differs("algo-1", c, "algo-2")
			}
		}
	})
}

// reading is a connection that can only be read from.
type reading struct {
	net.Conn
	r io.Reader
}

func (c reading) Read(p []byte) (int, error)  { return c.r.Read(p) }
func (c reading) Write(p []byte) (int, error) { return len(p), nil }

// A host that is taken in and then says what no host says is lost, and only that.
func TestAHostThatSpeaksNonsenseIsLost(t *testing.T) {
	called := call{op: allReduce, vector: vectorOf(make([]float64, 100_000))}.claim(1).head(0)
	chunk := appendFrame(nil, kindData, make([]byte, chunkSize))
	for name, c := range map[string]struct {
		say  []byte
		want string
	}{
		"ends in a header":      {called[:3], "the connection ended inside a message"},
		"ends in a message":     {append(called, chunk[:1000]...), "the connection ended inside a message"},
		"ends between messages": {append(called, chunk...), "the connection ended"},
		"a huge length":         {[]byte{byte(kindData), 0xff, 0xff, 0xff, 0xff}, "it sent what is no message of ours"},
		"an unknown kind":       {[]byte{99, 0, 0, 0, 0}, "it sent what is no message of ours"},
		"a second hello":        {textFrame(kindHello, hello{}), "it sent what is no message of ours"},
		"data without a call":   {chunk, "it sent what is no message of ours"},
		"a short piece":         {append(called, appendFrame(nil, kindData, make([]byte, 24))...), "it sent a piece of another length than was due"},
		"a call that is none":   {append(appendHeader(nil, kindCall, 3), 1, 2, 3), "it sent a call that is none"},
		"more room than due":    {roomFrame(window + 1), "it has used more than it was sent"},
		"an abort for nothing":  {textFrame(kindAbort, abort{}), "it sent what is no message of ours"},
	} {
		for to := range 2 { // the leader, or another one, which asks the leader
			t.Run(fmt.Sprintf("%s, to rank %d", name, to), func(t *testing.T) {
				t.Parallel()
				nonsense(t, to, c.say, strings.HasPrefix(name, "ends"), c.want)
			})
		}
	}
}

func nonsense(t *testing.T, to int, say []byte, ends bool, want string) {
	opts := Options{Addresses: map[string]string{"algo-1": freeAddress(t)}, Heartbeat: 100 * time.Millisecond, Silence: 20 * time.Second}
	hosts := []string{"algo-1", "algo-2", "algo-3"}
	errs := make(chan error, 2)
	for _, rank := range []int{0, 1} {
		c := Cluster{rank: rank, size: 3, engine: newMesh(hosts, rank, opts)}
		go func() {
			errs <- c.AllReduce(t.Context(), make([]float64, 100_000))
			c.Close()
		}()
	}
	opts.Heartbeat = time.Hour // says what it is told to, and nothing else
	impostor := newMesh(hosts, 2, opts)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, impostor.connect(ctx))
	for _, l := range impostor.others() {
		l.interrupted.Store(true) // so that it does not complain of the others
	}
	conn := impostor.links[to].conn
	_, err := conn.Write(say)
	require.NoError(t, err)
	if ends {
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	}
	for range 2 {
		require.EqualError(t, <-errs, "cluster: host algo-3 is lost: "+want)
	}
	impostor.close()
}

func TestTheLeaderListensWhereItCan(t *testing.T) {
	elsewhere, here := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("127.0.0.1") // of documentation, RFC 5737
	for _, addresses := range [][]netip.Addr{{here}, {elsewhere, here}, {here, elsewhere}} {
		listener, err := listenAt(t.Context(), addresses, "0")
		require.NoError(t, err, addresses)
		require.NoError(t, listener.Close())
	}
	_, err := listenAt(t.Context(), []netip.Addr{elsewhere}, "0")
	require.ErrorContains(t, err, "listen tcp 203.0.113.1:0: ")
}

// A host that got no answer in time, as the leader was stopped, say, has hung up and dials again. What it left at the door
// is not taken for it.
func TestAHostThatHungUpBeforeItWasHeardIsNotTakenIn(t *testing.T) {
	for name, hangUp := range map[string]bool{"hung up": true, "waits": false} {
		near, far := net.Pipe()
		d := &door{arrivals: make(chan guest, 1), opts: Options{}.withDefaults()}
		var greeting sync.WaitGroup
		greeting.Go(func() { d.greet(t.Context(), near) })
		said := textFrame(kindHello, newMesh([]string{"algo-1", "algo-2"}, 1, Options{}).hello(0, 1))
		_, err := far.Write(append(append([]byte(magic), version), said...))
		require.NoError(t, err)
		f, err := readFrame(far)
		require.NoError(t, err)
		c, err := parseText[challenge](f.payload)
		require.NoError(t, err)
		_, err = far.Write(textFrame(kindProof, prove("", dials, c, said[headerSize:])))
		require.NoError(t, err)
		if hangUp {
			far.Close()
		}
		greeting.Wait()
		require.Equal(t, hangUp, len(d.arrivals) == 0, name)
		far.Close()
		near.Close()
	}
}

// What a host may send is bounded by what a link holds, and a reader never waits.
func TestAHostThatSendsMoreThanItMayIsLost(t *testing.T) {
	near, far := net.Pipe()
	l := newLink(near, "algo-2", 1, Options{}.withDefaults())
	var tasks sync.WaitGroup
	l.start(&tasks)
	chunk := appendFrame(nil, kindData, make([]byte, chunkSize))
	for range window + others {
		_, err := far.Write(chunk)
		require.NoError(t, err)
	}
	far.Write(chunk)
	<-l.done
	require.EqualError(t, l.err, "it sent more than it was asked for")
	l.end(nil, linger)
	tasks.Wait()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// Who answers at the leader's address, and does not know the secret, can neither take a host in nor send it away for good.
func TestAStrangerInTheLeadersPlaceIsNotBelieved(t *testing.T) {
	hosts := []string{"algo-1", "algo-2"}
	for name, c := range map[string]struct {
		challenge bool
		answer    []byte
		want      error
	}{
		"a welcome at once":         {false, textFrame(kindWelcome, proof{}), errBadFrame},
		"a welcome without a proof": {true, textFrame(kindWelcome, proof{}), errSecret},
		"a refusal at once":         {false, textFrame(kindRefused, refusal{Reason: "no", Final: true}), &refusedError{refusal{Reason: "no"}}},
		"a refusal, no proof":       {true, textFrame(kindRefused, refusal{Reason: "no", Final: true}), &refusedError{refusal{Reason: "no"}}},
		"a challenge of no length":  {false, textFrame(kindChallenge, challenge{}), errBadFrame},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			m := newMesh(hosts, 1, Options{Secret: "secret"})
			result := make(chan error, 1)
			go func() { result <- m.introduce(near, m.hello(0, 1)) }()
			_, err := io.ReadFull(far, make([]byte, len(magic)+1))
			require.NoError(t, err)
			_, err = readFrame(far)
			require.NoError(t, err)
			if c.challenge {
				_, err = far.Write(textFrame(kindChallenge, challenge{make([]byte, nonceSize)}))
				require.NoError(t, err)
				_, err = readFrame(far)
				require.NoError(t, err)
			}
			_, err = far.Write(c.answer)
			require.NoError(t, err)
			require.Equal(t, c.want, <-result)
		})
	}
}
