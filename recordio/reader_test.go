package recordio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/recordio"
)

// frames returns the payloads as a stream, split after part bytes; 0 means never.
func frames(tb testing.TB, part int, payloads ...[]byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	w.MaxPart = part
	for _, payload := range payloads {
		require.NoError(tb, w.Write(payload))
	}
	require.NoError(tb, w.Flush())
	return b.Bytes()
}

// The vectors G4 to G7 of the container contract, 5.6.
func TestPublishedVectors(t *testing.T) {
	for _, c := range []struct {
		name      string
		stream    string
		multipart recordio.Multipart
		want      string
	}{
		{"one byte", "\x0a\x23\xd7\xce\x01\x00\x00\x00\x31\x00\x00\x00", recordio.Plain, "1"},
		{"empty record", "\x0a\x23\xd7\xce\x00\x00\x00\x00", recordio.Plain, ""},
		{"magic inside, whole", "\x0a\x23\xd7\xce\x0a\x00\x00\x00AAAA\x0a\x23\xd7\xceBB\x00\x00", recordio.Plain, "AAAA\x0a\x23\xd7\xceBB"},
		{"magic inside, dmlc", "\x0a\x23\xd7\xce\x04\x00\x00\x20AAAA\x0a\x23\xd7\xce\x02\x00\x00\x60BB\x00\x00", recordio.DMLC, "AAAA\x0a\x23\xd7\xceBB"},
		{"dmlc read as plain", "\x0a\x23\xd7\xce\x04\x00\x00\x20AAAA\x0a\x23\xd7\xce\x02\x00\x00\x60BB\x00\x00", recordio.Plain, "AAAABB"},
		{"plain parts", "\x0a\x23\xd7\xce\x05\x00\x00\x20hello\x00\x00\x00\x0a\x23\xd7\xce\x03\x00\x00\x40 wo\x00" +
			"\x0a\x23\xd7\xce\x03\x00\x00\x60rld\x00", recordio.Plain, "hello world"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader := recordio.NewReader(iotest.OneByteReader(bytes.NewReader([]byte(c.stream))))
			reader.Multipart = c.multipart
			got, err := readAll(reader)
			require.NoError(t, err)
			require.Len(t, got, 1)
			require.Equal(t, c.want, string(got[0]))
		})
	}
}

func TestWhatIsWrittenIsReadBackHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payloads := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 0, 20).Draw(t, "payloads")
		part := rapid.IntRange(0, 20).Draw(t, "part")
		multipart := rapid.SampledFrom([]recordio.Multipart{recordio.Plain, recordio.DMLC}).Draw(t, "multipart")
		if multipart == recordio.DMLC { // put magic numbers in
			for i := range payloads {
				payloads[i] = bytes.ReplaceAll(payloads[i], []byte{0}, []byte("\x0a\x23\xd7\xce"))
			}
		}
		reader := rapid.SampledFrom([]func(io.Reader) io.Reader{
			iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
			func(r io.Reader) io.Reader { return r },
		}).Draw(t, "reader")
		var stream bytes.Buffer
		w := recordio.NewWriter(&stream)
		w.MaxPart, w.Multipart = part, multipart
		for _, payload := range payloads {
			require.NoError(t, w.Write(payload))
		}
		require.NoError(t, w.Flush())
		records := recordio.NewReader(reader(&stream))
		records.Multipart = multipart
		got, err := readAll(records)
		require.NoError(t, err)
		require.Len(t, got, len(payloads))
		for i := range got {
			require.True(t, bytes.Equal(payloads[i], got[i]), "record %d", i)
		}
	})
}

func TestAStreamCutAnywhereIsAnErrorUnlessItIsCutBetweenRecords(t *testing.T) {
	stream := frames(t, 6, []byte("first record"), nil, []byte("third"), []byte("fourth, also split"))
	var ends []int64 // offsets between records
	reader := recordio.NewReader(bytes.NewReader(stream))
	for _, err := range reader.All() {
		require.NoError(t, err)
		ends = append(ends, reader.Offset())
	}
	for cut := range len(stream) {
		_, err := readAll(recordio.NewReader(bytes.NewReader(stream[:cut])))
		if cut == 0 || slices.Contains(ends, int64(cut)) {
			require.NoError(t, err, "cut at %d", cut)
		} else {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut at %d", cut)
		}
	}
}

func TestARecordLongerThanTheBufferIsReadWhole(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	stream := frames(t, 0, []byte("before"), long, []byte("after"))
	for _, wrap := range []func(io.Reader) io.Reader{iotest.HalfReader, iotest.DataErrReader} {
		got, err := readAll(recordio.NewReader(wrap(bytes.NewReader(stream))))
		require.NoError(t, err)
		require.Len(t, got, 3)
		require.True(t, bytes.Equal(long, got[1]))
		require.Equal(t, "after", string(got[2]))
	}
}

func TestAHostileLengthCostsNoMemory(t *testing.T) {
	stream := append(frames(t, 0, []byte("good")), "\x0a\x23\xd7\xce\xff\xff\xff\x1f0123"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := readAll(recordio.NewReader(bytes.NewReader(stream)))
	runtime.ReadMemStats(&after)
	require.Len(t, got, 1)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestARecordOverTheLimitIsRefusedWholeOrSplit(t *testing.T) {
	for _, part := range []int{0, 7} {
		reader := recordio.NewReader(bytes.NewReader(frames(t, part, []byte("0123456789"), []byte("0123456789a"))))
		reader.MaxSize = 10
		got, err := readAll(reader)
		require.Len(t, got, 1)
		require.ErrorIs(t, err, recordio.ErrTooLarge)
		require.ErrorContains(t, err, "recordio: record 1 at byte ")
	}
}

func TestErrorsSayWhatTheDataLookLike(t *testing.T) {
	for want, data := range map[string]string{
		"recordio: record 0 at byte 0: bad magic number 1f 8b 08 00: this looks like gzip, not RecordIO":    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00",
		"recordio: record 0 at byte 0: bad magic number 31 2e 35 2c: this looks like CSV, not RecordIO":     "1.5,2,3\n4,5,6\n",
		"recordio: record 0 at byte 0: bad magic number 31 2c 32 0a: this looks like CSV, not RecordIO":     "1,2\n",
		"recordio: record 0 at byte 0: bad magic number 7b 22 66 65: this looks like JSON, not RecordIO":    `{"features": [1, 2]}`,
		"recordio: record 0 at byte 0: bad magic number 31 20 31 3a: this looks like LibSVM, not RecordIO":  "1 1:0.5 7:1\n",
		"recordio: record 0 at byte 0: bad magic number 50 41 52 31: this looks like Parquet, not RecordIO": "PAR1\x15\x00\x15\x00",
		"recordio: record 0 at byte 0: bad magic number ce d7 23 0a: big-endian RecordIO":                   "\xce\xd7\x23\x0a\x00\x00\x00\x00",
		"recordio: record 0 at byte 0: bad magic number 00 01 02 03":                                        "\x00\x01\x02\x03\x04\x05\x06\x07",
		"recordio: record 1 at byte 12: bad magic number 31 2c 32 2c":                                       string(frames(t, 0, []byte("ok"))) + "1,2,3,4,5",
		"recordio: record 1 at byte 12: the stream ends inside the record":                                  string(frames(t, 0, []byte("ok"), []byte("cut"))[:22]),
	} {
		_, err := readAll(recordio.NewReader(bytes.NewReader([]byte(data))))
		require.EqualError(t, err, want)
	}
}

func TestWhatTheSourceSaysIsPassedOnAfterTheRecordsBeforeIt(t *testing.T) {
	broken := errors.New("connection reset")
	stream := io.MultiReader(bytes.NewReader(frames(t, 0, []byte("a"), []byte("b"))), iotest.ErrReader(broken))
	reader := recordio.NewReader(stream)
	got, err := readAll(reader)
	require.Len(t, got, 2)
	require.Equal(t, broken, err)
	_, err = reader.Next()
	require.Equal(t, broken, err, "the error stays")

	_, err = readAll(recordio.NewReader(idle{}))
	require.Equal(t, io.ErrNoProgress, err)
}

// idle is a reader that never gives anything.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// place is an error without the hint at what the data look like, which depends on how much of them
// has arrived.
func place(err error) string {
	format, ok := errors.AsType[*recordio.FormatError](err)
	if !ok {
		return fmt.Sprint(err)
	}
	for _, kind := range []error{recordio.ErrMagic, recordio.ErrSplit, recordio.ErrTooLarge, io.ErrUnexpectedEOF} {
		if errors.Is(err, kind) {
			return fmt.Sprint(format.Record, format.Offset, kind)
		}
	}
	return err.Error()
}

func FuzzReader(f *testing.F) {
	f.Add(frames(f, 0, []byte("a"), nil, []byte("bcd")), false)
	f.Add(frames(f, 3, []byte("a"), nil, []byte("abcdefgh")), false)
	f.Add([]byte("\x0a\x23\xd7\xce\x04\x00\x00\x20AAAA\x0a\x23\xd7\xce\x02\x00\x00\x60BB\x00\x00"), true)
	f.Add([]byte("\x0a\x23\xd7\xce\xff\xff\xff\xff"), false)
	f.Fuzz(func(t *testing.T, stream []byte, dmlc bool) {
		read := func(src io.Reader) ([][]byte, error) {
			reader := recordio.NewReader(src)
			if dmlc {
				reader.Multipart = recordio.DMLC
			}
			return readAll(reader)
		}
		got, err := read(bytes.NewReader(stream))
		slow, slowErr := read(iotest.OneByteReader(bytes.NewReader(stream)))
		require.Equal(t, got, slow)
		require.Equal(t, place(err), place(slowErr))
		inPlace := recordio.NewBytesReader(stream)
		if dmlc {
			inPlace.Multipart = recordio.DMLC
		}
		same, sameErr := readAll(inPlace)
		require.Equal(t, got, same)
		require.Equal(t, place(err), place(sameErr))
		again, err := readAll(recordio.NewReader(bytes.NewReader(frames(t, 0, got...))))
		require.NoError(t, err)
		require.Equal(t, got, again, "what is accepted is written and read the same")
	})
}

func ExampleReader_All() {
	var stream bytes.Buffer
	w := recordio.NewWriter(&stream)
	w.WriteRow([]float32{1, 2, 3}, 7)
	w.WriteRow([]float32{4, 5, 6}, 8)
	w.Flush()

	var rows recordio.RowDecoder
	row := make([]float32, 3)
	records := recordio.NewReader(&stream)
	for payload, err := range records.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		label, err := rows.Decode(payload, row)
		if err != nil {
			fmt.Println(records.At(err))
			return
		}
		fmt.Println(row, "label", label)
	}
	// Output:
	// [1 2 3] label [7]
	// [4 5 6] label [8]
}
