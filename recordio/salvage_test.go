package recordio_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/recordio"
)

var errSum = errors.New("wrong sum")

// checkSum is the Check of the records that sealed makes.
func checkSum(payload []byte) error {
	if len(payload) < sha256.Size {
		return errSum
	}
	digest := sha256.Sum256(payload[sha256.Size:])
	if !bytes.Equal(digest[:], payload[:sha256.Size]) {
		return errSum
	}
	return nil
}

// sealed returns n records of different lengths that begin with their own digest, and the stream
// of their frames.
func sealed(t *testing.T, n, maxPart int) (records [][]byte, stream []byte) {
	t.Helper()
	var out bytes.Buffer
	w := recordio.NewWriter(&out)
	w.MaxPart = maxPart
	for i := range n {
		body := bytes.Repeat([]byte{byte(i)}, 5*i)
		digest := sha256.Sum256(body)
		records = append(records, append(digest[:], body...))
		require.NoError(t, w.Write(records[i]))
	}
	require.NoError(t, w.Flush())
	return records, out.Bytes()
}

// salvage returns copies of the records that survive, and the damage.
func salvage(t *testing.T, s *recordio.Salvager) (records [][]byte, damage []error) {
	t.Helper()
	for {
		payload, err := s.Next()
		if err == io.EOF {
			return records, damage
		}
		if err != nil {
			require.IsType(t, (*recordio.FormatError)(nil), err)
			damage = append(damage, err)
			require.Less(t, len(damage), 1<<20)
			continue
		}
		records = append(records, bytes.Clone(payload))
	}
}

func TestSalvagerFindsTheRecordsAroundDamage(t *testing.T) {
	records, whole := sealed(t, 8, 0)
	begin := func(i int) (at int) { // of record i in the stream
		for _, record := range records[:i] {
			at += 8 + (len(record)+3)&^3
		}
		return at
	}
	with := func(at int, b ...byte) []byte {
		stream := bytes.Clone(whole)
		copy(stream[at:], b)
		return stream
	}
	length := func(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	garbage := bytes.Repeat([]byte("garbage!"), 1000)
	for _, c := range []struct {
		name    string
		stream  []byte
		lost    []int // records
		damage  []string
		skipped int
	}{
		{"nothing", whole, nil, nil, 0},
		{"no bytes", nil, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil, 0},
		{"a magic number", with(begin(3), 'x'), []int{3}, []string{"record 3 at byte 140: bad magic number"}, 56},
		{"the first magic number", with(0, 'x'), []int{0}, []string{"record 0 at byte 0: bad magic number"}, 40},
		{"a length that reaches into the next record", with(begin(2)+4, length(80)...), []int{2},
			[]string{"record 2 at byte 88: wrong sum"}, 52},
		{"a length that is too short", with(begin(2)+4, length(4)...), []int{2},
			[]string{"record 2 at byte 88: wrong sum"}, 52},
		{"a length past the end", with(begin(2)+4, length(100_000)...), []int{2},
			[]string{"record 2 at byte 88: the stream ends inside the record"}, 52},
		{"a length over the maximum", with(begin(2)+4, length(1<<29-1)...), []int{2},
			[]string{"record 2 at byte 88: record too large"}, 52},
		{"content", with(begin(2)+20, 9, 9, 9), []int{2}, []string{"record 2 at byte 88: wrong sum"}, 52},
		{"content twice", slices.Concat(with(begin(2)+20, 9, 9, 9)[:begin(5)+20], []byte("bad"), whole[begin(5)+23:]),
			[]int{2, 5}, []string{"record 2 at byte 88: wrong sum", "record 5 at byte 256: wrong sum"}, 120},
		{"garbage between two records", slices.Insert(bytes.Clone(whole), begin(4), garbage...), nil,
			[]string{"record 4 at byte 196: bad magic number"}, len(garbage)},
		{"garbage at the end", append(bytes.Clone(whole), "garbage"...), nil,
			[]string{"record 8 at byte 472: bad magic number"}, 7},
		{"bytes that are missing, so that frames are not aligned any more", slices.Delete(bytes.Clone(whole), begin(3)+30, begin(3)+33),
			[]int{3}, []string{"record 3 at byte 140: wrong sum"}, 53},
		{"an end in a header", whole[:begin(7)+5], []int{7}, []string{"record 7 at byte 396: the stream ends inside"}, 5},
		{"an end in a payload", whole[:begin(7)+50], []int{7}, []string{"record 7 at byte 396: the stream ends inside"}, 50},
		{"an end in the padding", whole[:len(whole)-1], nil, []string{"record 7 at byte 396: the stream ends inside"}, 0},
		{"a file cut in a record, and another file", slices.Concat(whole[:begin(1)+13], whole[begin(1):]), nil,
			[]string{"record 1 at byte 40: wrong sum"}, 13},
		{"a flag of a first part", with(begin(2)+7, 1<<5), []int{2},
			[]string{"record 2 at byte 140: bad split: a whole record inside"}, 52},
		{"a flag of a middle part", with(begin(2)+7, 2<<5), []int{2},
			[]string{"record 2 at byte 88: bad split: a middle part without"}, 52},
		{"an undefined flag", with(begin(2)+7, 6<<5), []int{2},
			[]string{"record 2 at byte 88: bad split: a part with the undefined flag 6"}, 52},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, wrap := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
			} {
				s := recordio.NewSalvager(wrap(bytes.NewReader(c.stream)))
				s.Check, s.MaxSize = checkSum, 1<<20
				got, damage := salvage(t, s)
				want := [][]byte{}
				for i, record := range records {
					if !slices.Contains(c.lost, i) {
						want = append(want, record)
					}
				}
				require.ElementsMatch(t, want, got)
				require.Len(t, damage, len(c.damage), "%v", damage)
				for i := range damage {
					require.ErrorContains(t, damage[i], c.damage[i])
				}
				require.EqualValues(t, c.skipped, s.Skipped())
			}
		})
	}
}

func TestSalvagerLosesNoMoreThanTheRecordOfOneFlippedBit(t *testing.T) {
	for _, maxPart := range []int{0, 24} {
		records, whole := sealed(t, 8, maxPart)
		for bit := range 8 * len(whole) {
			stream := bytes.Clone(whole)
			stream[bit/8] ^= 1 << (bit % 8)
			s := recordio.NewSalvager(bytes.NewReader(stream))
			s.Check = checkSum
			got, damage := salvage(t, s)
			require.GreaterOrEqual(t, len(got), len(records)-1, "bit %d: %v", bit, damage)
			if len(got) < len(records) {
				require.NotEmpty(t, damage, "bit %d", bit)
			}
			for _, record := range got {
				require.Contains(t, records, record, "bit %d", bit)
			}
		}
	}
}

func TestSalvagerJoinsPartsAsReaderDoes(t *testing.T) {
	split := []byte("\x0a\x23\xd7\xce\x04\x00\x00\x20AAAA\x0a\x23\xd7\xce\x02\x00\x00\x60BB\x00\x00")
	for multipart, want := range map[recordio.Multipart]string{
		recordio.Plain: "AAAABB", recordio.DMLC: "AAAA\x0a\x23\xd7\xceBB",
	} {
		s := recordio.NewSalvager(bytes.NewReader(split))
		s.Multipart = multipart
		got, damage := salvage(t, s)
		require.Empty(t, damage)
		require.Equal(t, [][]byte{[]byte(want)}, got)
	}
}

func TestSalvagerReturnsWhatTheSourceSays(t *testing.T) {
	_, whole := sealed(t, 3, 0)
	s := recordio.NewSalvager(io.MultiReader(bytes.NewReader(whole[:50]), iotest.ErrReader(errSum)))
	_, err := s.Next()
	require.NoError(t, err)
	for range 2 {
		_, err = s.Next()
		require.Equal(t, errSum, err)
	}
}

// A source that fails just behind a record takes away nothing of it.
func TestSalvagerReturnsWholeRecordsBeforeWhatTheSourceSays(t *testing.T) {
	for _, maxPart := range []int{0, 24} {
		records, whole := sealed(t, 3, maxPart) // the last one has 2 bytes of padding
		for cut := range 3 {
			s := recordio.NewSalvager(io.MultiReader(bytes.NewReader(whole[:len(whole)-cut]), iotest.ErrReader(errSum)))
			for _, record := range records {
				got, err := s.Next()
				require.NoError(t, err)
				require.Equal(t, record, got)
			}
			for range 2 {
				_, err := s.Next()
				require.Equal(t, errSum, err)
			}
			require.Zero(t, s.Skipped())
		}
	}
}

// The bytes behind the last record that survives are lost, whatever ends the stream.
func TestSalvagerCountsWhatIsLeftWhenTheSourceFails(t *testing.T) {
	_, whole := sealed(t, 2, 0)
	s := recordio.NewSalvager(io.MultiReader(bytes.NewReader(whole[:50]), iotest.ErrReader(errSum)))
	_, err := s.Next()
	require.NoError(t, err)
	_, err = s.Next()
	require.Equal(t, errSum, err)
	require.EqualValues(t, 10, s.Skipped())
}

// Each middle part hides a first part, behind which the same middle parts follow.
func TestSalvagerTriesNoPartOften(t *testing.T) {
	const first, middle, last = "\x0a\x23\xd7\xce\x00\x00\x00\x20", "\x0a\x23\xd7\xce\x08\x00\x00\x40", "\x0a\x23\xd7\xce\x00\x00\x00\x60"
	for _, n := range []int{10, 1000, 10_000} {
		parts := first + strings.Repeat(middle+first, n)
		s := recordio.NewSalvager(strings.NewReader(parts))
		_, damage := salvage(t, s)
		require.Len(t, damage, 1, "as many as split records are tried")
		require.EqualValues(t, len(parts), s.Skipped())

		// The parts are complete, and what they hold is wrong.
		checked := 0
		s = recordio.NewSalvager(strings.NewReader(parts + last))
		s.Check = func(payload []byte) error {
			checked += len(payload)
			return errSum
		}
		salvage(t, s)
		require.LessOrEqual(t, checked, 20*len(parts))

		// They are too large together.
		s = recordio.NewSalvager(strings.NewReader(parts + last))
		s.MaxSize = 4 * n
		_, damage = salvage(t, s)
		require.LessOrEqual(t, len(damage), 20)
	}
}

// On every golden file the first damage is the Reader's error, and what comes before survives.
func TestSalvagerAgreesWithReaderOnGoldenFiles(t *testing.T) {
	dir, files := goldenFiles(t)
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, file.File))
			require.NoError(t, err)
			requireSameStart(t, data, strings.HasPrefix(file.Name, "multipart_"))
		})
	}
}

func requireSameStart(t *testing.T, data []byte, dmlc bool) {
	t.Helper()
	reader, salvager := recordio.NewReader(bytes.NewReader(data)), recordio.NewSalvager(bytes.NewReader(data))
	if dmlc {
		reader.Multipart, salvager.Multipart = recordio.DMLC, recordio.DMLC
	}
	reader.MaxSize, salvager.MaxSize = 1<<20, 1<<20
	want, wantErr := readAll(reader)
	got, damage := salvage(t, salvager)
	if wantErr == nil {
		require.Empty(t, damage)
		require.Equal(t, want, got)
		return
	}
	require.GreaterOrEqual(t, len(got), len(want))
	for i := range want {
		require.Equal(t, want[i], got[i])
	}
	require.NotEmpty(t, damage)
	wantAt, ok := errors.AsType[*recordio.FormatError](wantErr)
	require.True(t, ok)
	gotAt, ok := errors.AsType[*recordio.FormatError](damage[0])
	require.True(t, ok)
	require.Equal(t, [2]int64{wantAt.Record, wantAt.Offset}, [2]int64{gotAt.Record, gotAt.Offset}, "%v: %v", wantErr, damage[0])
	for _, kind := range []error{recordio.ErrMagic, recordio.ErrSplit, recordio.ErrTooLarge, io.ErrUnexpectedEOF} {
		require.Equal(t, errors.Is(wantErr, kind), errors.Is(damage[0], kind), "%v: %v", wantErr, damage[0])
	}
}

// A stream may be anything: the Salvager ends, and begins as a Reader does.
func FuzzSalvager(f *testing.F) {
	f.Add([]byte("\x0a\x23\xd7\xce\x04\x00\x00\x20AAAA\x0a\x23\xd7\xce\x02\x00\x00\x60BB\x00\x00"), true)
	f.Add([]byte("\x0a\x23\xd7\xce\x00\x00\x00\x00\x0a\x23\xd7\xce\x03\x00\x00\x00abc"), false)
	f.Add([]byte("\x0a\x23\xd7\xce\x08\x00\x00\x00\x0a\x23\xd7\xce\x03\x00\x00\x00abc"), false)
	f.Fuzz(func(t *testing.T, data []byte, dmlc bool) {
		requireSameStart(t, data, dmlc)
		s := recordio.NewSalvager(bytes.NewReader(data))
		s.Check = checkSum
		got, _ := salvage(t, s)
		for _, record := range got {
			require.NoError(t, checkSum(record))
		}
		require.LessOrEqual(t, s.Skipped(), int64(len(data)))
	})
}
