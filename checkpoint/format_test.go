package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/minio/crc64nvme"
	"github.com/stretchr/testify/require"
)

var full = Snapshot{
	Step:      1200,
	Positions: []Position{{Channel: "train", Epoch: 3, Records: 5000, Bytes: 123456}},
	Random:    []byte{0, 1, 2, 255},
	Meta:      map[string]string{"loss": "0.25"},
	Time:      time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC),
	Host:      "algo-2", Rank: 1, Size: 3,
	HyperParameters: map[string]string{"k": "10"},
	Serial:          7, Run: "a run",
}

func TestASnapshotComesBackAsItWasSaved(t *testing.T) {
	for _, state := range []string{"", "x", strings.Repeat("weights ", 100_000)} {
		snapshot, got, err := read(bytesOf(t, full, text(state)))
		require.NoError(t, err)
		require.Equal(t, full, snapshot)
		require.True(t, got == state)
	}
}

func TestAStateMayBeWrittenAndReadInAnyPieces(t *testing.T) {
	data := bytesOf(t, full, writerFunc(func(w io.Writer) error {
		for _, b := range []byte("one by one") {
			if _, err := w.Write([]byte{b}); err != nil {
				return err
			}
		}
		return nil
	}))
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "data with errors": iotest.DataErrReader,
	} {
		r := NewReader(wrap(bytes.NewReader(data)), int64(len(data)))
		require.NoError(t, iotest.TestReader(r, []byte("one by one")), name)
	}
	r := NewReader(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(data))), int64(len(data)))
	_, err := io.Copy(io.Discard, r)
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

// A writerFunc is a state that does not count what it writes.
type writerFunc func(io.Writer) error

func (f writerFunc) WriteTo(w io.Writer) (int64, error) { return 0, f(w) }

func requireDamage(t *testing.T, data []byte, msg ...any) {
	t.Helper()
	_, _, err := read(data)
	_, future := errors.AsType[*VersionError](err)
	require.True(t, future || errors.Is(err, ErrFormat) || errors.Is(err, ErrCut) || errors.Is(err, ErrChecksum), "%v: %v", msg, err)
}

func TestNoBitMayBeWrong(t *testing.T) {
	data := bytesOf(t, full, text("the state of a small model"))
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			requireDamage(t, data, "byte", i, "bit", bit)
			data[i] ^= 1 << bit
		}
		for _, b := range []byte{0, 0xff, data[i] + 1} {
			if before := data[i]; before != b {
				data[i] = b
				requireDamage(t, data, "byte", i, "is", b)
				data[i] = before
			}
		}
	}
	_, _, err := read(data)
	require.NoError(t, err, "and as it was it is whole")
}

func TestNoByteMayBeMissing(t *testing.T) {
	data := bytesOf(t, full, text("the state of a small model"))
	for n := range data {
		_, _, err := read(data[:n])
		require.ErrorIs(t, err, ErrCut, n)
		requireDamage(t, append(append([]byte{}, data[:n]...), make([]byte, len(data)-n)...), "zeros from", n)
		requireDamage(t, data[n+1:], "without the first", n+1)
		requireDamage(t, append(append([]byte{}, data[:n]...), data[n+1:]...), "without byte", n)
		requireDamage(t, append(append([]byte{}, data...), data[:n+1]...), "with more after it", n+1)
		requireDamage(t, append(append([]byte{}, data[:n+1]...), data...), "again after", n+1)
	}
	_, _, err := read(nil)
	require.ErrorIs(t, err, ErrCut)
}

// The file may become shorter, or longer, than it was when its size was asked for.
func TestTheSizeIsNotTrusted(t *testing.T) {
	data := bytesOf(t, full, text("the state of a small model"))
	for size := range int64(len(data) + 100) {
		if size != int64(len(data)) {
			_, err := io.Copy(io.Discard, NewReader(bytes.NewReader(data), size))
			require.Error(t, err, size)
		}
	}
}

func TestAStateMayItselfHoldSnapshots(t *testing.T) {
	inner := string(bytesOf(t, full, text("inner")))
	data := bytesOf(t, full, text(inner+inner))
	_, state, err := read(data)
	require.NoError(t, err)
	require.Equal(t, inner+inner, state)
	for n := range data {
		requireDamage(t, data[:n], n)
	}
}

// future is a file of the next version, whose layout nobody knows but that of its first bytes.
func future(t testing.TB) []byte {
	data := bytesOf(t, full, text("what comes"))
	binary.BigEndian.PutUint32(data[8:], version+1)
	return data
}

func TestAFutureVersionSaysSo(t *testing.T) {
	_, _, err := read(future(t))
	require.EqualError(t, err, "format version 2, and this program reads version 1")
}

func TestWhatIsNoSnapshotSaysSo(t *testing.T) {
	for _, data := range []string{"PK\x03\x04", strings.Repeat("\x00", 1000), "\x89algckp\r\n", "\x89PNG\r\n"} {
		_, _, err := read([]byte(data))
		require.ErrorIs(t, err, ErrFormat, "%q", data)
	}
}

// A header whose length is claimed costs no more than what is there, and 1 MiB at most.
func TestAClaimedLengthCostsNoMemory(t *testing.T) {
	data := bytesOf(t, full, text("x"))
	binary.BigEndian.PutUint32(data[12:], 0xfffffff0)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			read(data)
		}
	}).AllocedBytesPerOp()
	require.Less(t, allocated, int64(2<<20))
	r := NewReader(bytes.NewReader(data), 1<<62)
	_, err := r.Snapshot()
	require.ErrorIs(t, err, ErrChecksum)
}

func TestAHeaderThatIsTooLongIsNotSaved(t *testing.T) {
	s := NewStore(t.TempDir(), Options{})
	defer s.Close()
	err := s.Save(t.Context(), Snapshot{Step: 3, Random: make([]byte, 1<<20)}, text(""))
	require.ErrorContains(t, err, "checkpoint: step 3: positions, random state, hyperparameters and meta take 13")
	require.Empty(t, steps(t, s))
}

// A writer of another program may have a header that sums up and is no JSON.
func TestAHeaderMustBeJSON(t *testing.T) {
	data := append(begin[:], 0, 0, 0, 1, 0, 0, 0, 2)
	data = append(data, "{["...)[:headSize+2]
	hash := crc64nvme.New()
	hash.Write(data)
	data = binary.BigEndian.AppendUint64(data, hash.Sum64())
	_, _, err := read(append(data, make([]byte, trailerSize)...))
	require.ErrorContains(t, err, "header: ")
}

// What is accepted is what a store wrote: the same bytes come of saving it again.
func FuzzRead(f *testing.F) {
	f.Add([]byte{}, uint16(0), byte(0))
	data := bytesOf(f, full, text("the state of a small model"))
	f.Add(data, uint16(0), byte(0))
	f.Add(future(f), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, in []byte, at uint16, change byte) {
		read(in)
		if changed := bytes.Clone(data); change != 0 {
			changed[int(at)%len(changed)] ^= change
			requireDamage(t, changed, at, change)
		}
		snapshot, state, err := read(in)
		if err == nil && bytes.HasPrefix(in, data[:headSize]) {
			require.Equal(t, state, mustRead(t, bytesOf(t, snapshot, text(state))))
		}
	})
}

func mustRead(t *testing.T, data []byte) string {
	_, state, err := read(data)
	require.NoError(t, err)
	return state
}

// Several bytes at once, as where a block of a disk is lost.
func TestNoBlockMayBeWrong(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	data := bytesOf(t, full, text(strings.Repeat("weights ", 1000)))
	for range 20_000 {
		changed := bytes.Clone(data)
		from := random.IntN(len(data))
		block := changed[from:min(len(data), from+1+random.IntN(512))]
		for i := range block {
			block[i] = byte(random.Uint32())
		}
		if !bytes.Equal(changed, data) {
			requireDamage(t, changed, from, len(block))
		}
	}
}
