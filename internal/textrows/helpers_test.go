package textrows_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/textrows"
)

// same turns a row into one that can be compared: NaN equals NaN, 0 does not equal -0.
type same struct {
	columns       int
	sparse        bool
	keys          []int32
	values, label []uint32
}

func bitsOf(numbers []float32) []uint32 {
	list := []uint32{}
	for _, x := range numbers {
		list = append(list, math.Float32bits(x))
	}
	return list
}

func collect(rows iter.Seq2[textrows.Row, error]) (list []same, err error) {
	for row, err := range rows {
		if err != nil {
			return list, err
		}
		list = append(list, same{
			columns: row.Columns, sparse: row.Keys != nil, keys: slices.Clone(row.Keys),
			values: bitsOf(row.Values), label: bitsOf(row.Label),
		})
	}
	return list, nil
}

// csvRows gives CSV the shape of the others.
func csvRows(rows *textrows.CSV) iter.Seq2[textrows.Row, error] {
	return func(yield func(textrows.Row, error) bool) {
		for row, err := range rows.All() {
			if !yield(textrows.Row{Columns: len(row), Values: row}, err) {
				return
			}
		}
	}
}

// readers are the three formats.
var readers = map[string]func(io.Reader) iter.Seq2[textrows.Row, error]{
	"csv":       func(r io.Reader) iter.Seq2[textrows.Row, error] { return csvRows(textrows.NewCSV(r)) },
	"libsvm":    func(r io.Reader) iter.Seq2[textrows.Row, error] { return textrows.NewLibSVM(r).All() },
	"jsonlines": func(r io.Reader) iter.Seq2[textrows.Row, error] { return textrows.NewJSONLines(r).All() },
}

// checkDeliveries checks that rows and error do not depend on how the text arrives.
func checkDeliveries(tb testing.TB, format string, text []byte) {
	tb.Helper()
	want, wantErr := collect(readers[format](bytes.NewReader(text)))
	for name, deliver := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with EOF": iotest.DataErrReader,
	} {
		got, err := collect(readers[format](deliver(bytes.NewReader(text))))
		require.Equal(tb, want, got, name)
		if wantErr == nil {
			require.NoError(tb, err, name)
		} else {
			require.EqualError(tb, err, wantErr.Error(), name)
		}
	}
}

var samples = map[string][]string{
	"csv": {
		"1,2.5,-3e2\n4,5,6\n", "1,2\r\n3,4\r\n", "1,2\n3,4", "\xef\xbb\xbf1,2\n", " 1 ,\t2\n", "\"1\",\"2\"\n", " \"1\",2\n",
		"\n1,2\n\n\n3,4\n\n", "1\n2\n", "", "\n", "a,b\n1,2\n", "1,\n", "1,\"2\n3\"\n", "1,2\n3\n", "NaN,1\n", "0x1p-2\n", "1,2\r",
	},
	"libsvm": {
		"1 1:0.5 3:2\n-1 2:1 # comment\n", "1,2 1:1\n", "0\n", "1:5\n", "3 qid:7 1:1\n", "# only\n\n1 1:1", "1 3:1 1:2\n", "1 2:1 2:1\n",
		"1 0:1\n", "1 a:1\n", "1 1:\n", "1 1:x\n", "x 1:1\n", "1 5\n", "1 2147483647:1\n", "1 2147483648:1\n", "1 :1\n", "\xef\xbb\xbf1 1:1\r\n",
	},
	"jsonlines": {
		`{"features":[1.5,16.0]}`, `{"data":{"features":{"values":[1,2]}},"label":1}`, `{"features":[1],"label":[1,0]}`,
		`{"data":{"features":{"keys":[26,182],"shape":[2000],"values":[1,4]}}}`, `{"data":{"features":{"shape":[4]}}}`,
		`{"data":{"features":{"keys":[1,1],"shape":[4],"values":[1,2]}}}`, `{"features":["1"]}`, `{"features":null}`, `{"features":[null]}`,
		`{`, `[1]`, `{}`, `{"data":{"features":{"keys":[9],"shape":[4],"values":[1]}}}`, `{"features":[[1]]}`, `{"features":1}`,
	},
}

func TestRowsDoNotDependOnHowTheTextArrives(t *testing.T) {
	for format, texts := range samples {
		for _, text := range texts {
			checkDeliveries(t, format, []byte(text))
		}
	}
}

func TestTheSourcesErrorIsPassedOnBehindTheLinesBeforeIt(t *testing.T) {
	texts := map[string]string{"csv": "1,2\n3,", "libsvm": "1 1:2\n1 3:", "jsonlines": "{\"features\":[1]}\n{"}
	broken := errors.New("the pipe broke")
	for format, text := range texts {
		rows, err := collect(readers[format](io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))))
		require.Len(t, rows, 1, format)
		require.Same(t, broken, err, format)

		_, err = collect(readers[format](iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text)))))
		require.Same(t, iotest.ErrTimeout, err, format)
	}
}

// endless is a line without an end; it counts what was taken of it.
type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '1'
	}
	e.taken += len(p)
	return len(p), nil
}

func TestALineThatDoesNotEndIsRefusedAtTheMaximum(t *testing.T) {
	src := new(endless)
	rows := textrows.NewCSV(src)
	rows.MaxLine = 1 << 20
	_, err := rows.Next()
	require.EqualError(t, err, "line 1: longer than 1048576 bytes")
	require.Less(t, src.taken, 3<<20)

	rows = textrows.NewCSV(strings.NewReader("12345\r\n123456\n"))
	rows.MaxLine = 5
	row, err := rows.Next()
	require.NoError(t, err)
	require.Equal(t, []float32{12345}, row)
	_, err = rows.Next()
	require.EqualError(t, err, "line 2: longer than 5 bytes")
	_, again := rows.Next()
	require.Same(t, err, again)
}

func TestLongLinesAreReadWhole(t *testing.T) {
	const columns = 300_000 // several buffers
	text := strings.Repeat("1.25,", columns-1) + "1.25\n"
	rows := textrows.NewCSV(iotest.HalfReader(strings.NewReader(text + text)))
	for range 2 {
		row, err := rows.Next()
		require.NoError(t, err)
		require.Len(t, row, columns)
	}
	require.EqualValues(t, 2*len(text), rows.Offset())
	require.EqualValues(t, 2, rows.Line())
}

func TestRowsAreReadWithoutAllocations(t *testing.T) {
	csv := textrows.NewCSV(strings.NewReader(strings.Repeat("1.5,-2,3e4\n", 20_000)))
	svm := textrows.NewLibSVM(strings.NewReader(strings.Repeat("1 3:1.5 1:2 7:1e3\n", 20_000)))
	for range 10 {
		_, _ = csv.Next()
		_, _ = svm.Next()
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = csv.Next() }))
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = svm.Next() }))
}
