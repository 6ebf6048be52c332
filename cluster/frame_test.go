package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
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
			f, err := readFrame(r, nil)
			require.NoError(t, err)
			a, err := parseText[abort](f.payload)
			require.NoError(t, err)
			require.EqualError(t, a.error(), "cluster: host algo-2 is lost: why")
			f, err = readFrame(r, make([]byte, 100))
			require.NoError(t, err)
			require.Equal(t, frame{kindData, []byte{1, 2}}, f)
			_, err = readFrame(r, nil)
			require.Equal(t, io.EOF, err)
		})
	}
}

func TestACutFrameIsAnUnexpectedEnd(t *testing.T) {
	stream := appendFrame(nil, kindData, make([]byte, 16))
	for n := 1; n < len(stream); n++ {
		_, err := readFrame(bytes.NewReader(stream[:n]), nil)
		require.Equal(t, io.ErrUnexpectedEOF, err, "after %d bytes", n)
	}
}

func TestTextsFitTheirFramesWhateverJSONMakesOfThem(t *testing.T) {
	for _, c := range []string{"\x00", "\xff", "<", "é"} {
		long := strings.Repeat(c, 10_000)
		_, err := readFrame(bytes.NewReader(abortFrame(&LostError{long, errors.New(long)})), nil)
		require.NoError(t, err)
		s := newStar([]string{long, long + "x"}, 1, Options{Job: long, Attempt: long})
		_, err = readFrame(bytes.NewReader(textFrame(kindHello, s.hello())), nil)
		require.NoError(t, err)
	}
}

// FuzzFrames feeds the leader's side of a connection.
func FuzzFrames(f *testing.F) {
	hello := append(append([]byte(magic), version), textFrame(kindHello, hello{Job: "job", Host: "algo-2", Rank: 1, Size: 2})...)
	claim := call{op: allReduce, vector: vectorOf(make([]float64, 2))}.claim(1)
	f.Add(hello)
	f.Add(append(hello, claim.append(appendHeader(nil, kindCall, binary.Size(claim)))...))
	f.Add(appendFrame(append(append([]byte(nil), hello...), bye...), kindData, make([]byte, 16)))
	f.Add(append(append([]byte(nil), hello...), abortFrame(&LostError{"algo-2", errEnded})...))
	f.Add(append(hello, byte(kindData), 0xff, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, stream []byte) {
		conn := reading{r: bytes.NewReader(stream)}
		h, err := readHello(conn)
		if err != nil {
			return
		}
		s := newStar([]string{"algo-1", "algo-2"}, 0, Options{Job: "job"})
		if r := s.check(h); r != nil {
			return
		}
		for {
			frame, err := readFrame(conn.r, nil)
			if err != nil {
				return
			}
			if len(frame.payload) > chunkSize {
				t.Fatalf("a frame of %d bytes", len(frame.payload))
			}
			switch frame.kind {
			case kindCall:
				if c, err := parseClaim(frame.payload); err == nil {
					if !bytes.Equal(c.append(nil), frame.payload) {
						t.Fatalf("%x is read as %+v", frame.payload, c)
					}
					_ = claim.differs("algo-1", c, "algo-2")
				}
			case kindAbort:
				if a, err := parseText[abort](frame.payload); err == nil && a.error() == nil {
					t.Fatal("an abort without an error")
				}
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
	claim := call{op: allReduce, vector: vectorOf(make([]float64, 20_000))}.claim(1)
	called := claim.append(appendHeader(nil, kindCall, binary.Size(claim)))
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
		"a short chunk":         {append(called, appendFrame(nil, kindData, make([]byte, 24))...), "it sent a chunk of another length than was due"},
		"a call that is none":   {append(appendHeader(nil, kindCall, 3), 1, 2, 3), "it sent a call that is none"},
	} {
		t.Run(name, func(t *testing.T) {
			address := freeAddress(t)
			opts := Options{Addresses: map[string]string{"algo-1": address}, Heartbeat: 100 * time.Millisecond, Silence: 5 * time.Second}
			hosts := []string{"algo-1", "algo-2", "algo-3"}
			errs := make(chan error, 2)
			for _, rank := range []int{0, 1} {
				c := Cluster{rank: rank, size: 3, engine: newStar(hosts, rank, opts)}
				go func() {
					errs <- c.AllReduce(t.Context(), make([]float64, 20_000))
					c.Close()
				}()
			}
			impostor := newStar(hosts, 2, opts)
			var conn net.Conn
			require.Eventually(t, func() bool {
				l, err := impostor.join(t.Context())
				if err == nil {
					conn = l.conn
				}
				return err == nil
			}, 5*time.Second, 10*time.Millisecond)
			defer conn.Close()
			start, err := readFrame(conn, nil)
			for err == nil && start.kind == kindBeat {
				start, err = readFrame(conn, nil)
			}
			require.NoError(t, err)
			require.Equal(t, kindStart, start.kind)
			_, err = conn.Write(c.say)
			require.NoError(t, err)
			if strings.HasPrefix(name, "ends") {
				require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			}
			for range 2 {
				require.EqualError(t, <-errs, "cluster: host algo-3 is lost: "+c.want)
			}
		})
	}
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	follower := newStar([]string{"algo-1", "algo-2"}, 1, Options{})
	for name, hangUp := range map[string]bool{"hung up": true, "waits": false} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write(append(append([]byte(magic), version), textFrame(kindHello, follower.hello())...))
		require.NoError(t, err)
		if hangUp {
			require.NoError(t, conn.Close())
		}
		accepted, err := listener.Accept()
		require.NoError(t, err)
		defer accepted.Close()
		d := &door{arrivals: make(chan arrival, 1)}
		d.greet(t.Context(), accepted, 5*time.Second)
		require.Equal(t, hangUp, len(d.arrivals) == 0, name)
	}
}

// What a host may send is bounded by what a link holds, and a reader never waits.
func TestAHostThatSendsMoreThanItMayIsLost(t *testing.T) {
	near, far := net.Pipe()
	l := newLink(near, "algo-2", Options{}.withDefaults())
	var tasks sync.WaitGroup
	l.start(&tasks)
	chunk := appendFrame(nil, kindData, make([]byte, chunkSize))
	for range window + 2 {
		_, err := far.Write(chunk)
		require.NoError(t, err)
	}
	far.Write(chunk)
	<-l.done
	require.EqualError(t, l.err, "it sent more than it was asked for")
	l.end(nil)
	tasks.Wait()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
