package algorithms_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/mediatype"
	"github.com/algospec/algospec/recordio"
)

func typed(contentType string, data []byte) *channel.Channel {
	return &channel.Channel{Name: "train", Config: channel.Config{ContentType: contentType}, Source: channel.Memory(data)}
}

// formatted is the same three rows, labels 1, 0 and 1, in every format that has labels.
func formatted(t *testing.T) map[string][]byte {
	t.Helper()
	var dense, sparse bytes.Buffer
	for _, b := range []*bytes.Buffer{&dense, &sparse} {
		w := recordio.NewWriter(b)
		if b == &dense {
			require.NoError(t, w.WriteRow([]float32{0, 1.5, 0, -2}, 1))
			require.NoError(t, w.WriteRow([]float32{0, 0, 0, 0}, 0))
			require.NoError(t, w.WriteRow([]float32{7, 0, 8, 9}, 1))
		} else {
			require.NoError(t, w.WriteSparseRow(4, []int32{1, 3}, []float32{1.5, -2}, 1))
			require.NoError(t, w.WriteSparseRow(4, nil, nil, 0))
			require.NoError(t, w.WriteSparseRow(4, []int32{2, 3, 0}, []float32{8, 9, 7}, 1))
		}
		require.NoError(t, w.Flush())
	}
	return map[string][]byte{
		"":                                     dense.Bytes(),
		"application/x-recordio-protobuf":      sparse.Bytes(),
		"Application/X-RecordIO-Protobuf; v=1": dense.Bytes(),
		"protobuf":                             sparse.Bytes(),
		"text/csv":                             []byte("1,0,1.5,0,-2\n0,0,0,0,0\n1,7,0,8,9"),
		"text/csv; label_size = 1":             []byte("1,0,1.5,0,-2\r\n0,0,0,0,0\r\n\"1\",7,0,8,9\r\n"),
		"text/libsvm":                          []byte("1 2:1.5 4:-2\n0\n1 3:8 4:9 1:7 # unsorted\n"),
		"application/jsonlines": []byte(`{"features": [0, 1.5, 0, -2], "label": 1}` + "\n" +
			`{"data": {"features": {"keys": [], "shape": [4], "values": []}}, "label": 0}` + "\n" +
			`{"data": {"features": {"keys": [0, 2, 3], "shape": [4], "values": [7, 8, 9]}}, "label": 1}` + "\n"),
	}
}

func TestEveryFormatGivesTheSameDenseRows(t *testing.T) {
	for contentType, data := range formatted(t) {
		t.Run(contentType, func(t *testing.T) {
			for batch, err := range algorithms.Batches(t.Context(), typed(contentType, data), batching(4, 10)) {
				require.NoError(t, err)
				require.Equal(t, []float32{0, 1.5, 0, -2, 0, 0, 0, 0, 7, 0, 8, 9}, batch.X.Data)
				require.Equal(t, []float32{1, 0, 1}, batch.Labels)
				require.Equal(t, int64(len(data)), batch.Bytes)
			}
		})
	}
}

func TestEveryFormatGivesTheSameSparseRows(t *testing.T) {
	p := batching(4, 10)
	p.Sparse = true
	for contentType, data := range formatted(t) {
		t.Run(contentType, func(t *testing.T) {
			for batch, err := range algorithms.Batches(t.Context(), typed(contentType, data), p) {
				require.NoError(t, err)
				require.Empty(t, batch.X.Data)
				require.Equal(t, 4, batch.S.Cols)
				require.Equal(t, []int{0, 2, 2, 5}, batch.S.Indptr)
				rows := [3][4]float32{}
				for i := range batch.Rows() {
					columns, values := batch.S.Row(i)
					for at, column := range columns {
						rows[i][column] = values[at]
					}
				}
				require.Equal(t, [3][4]float32{{0, 1.5, 0, -2}, {}, {7, 0, 8, 9}}, rows)
				require.Equal(t, []float32{1, 0, 1}, batch.Labels)
				sums := make([]float64, 4)
				batch.ColumnSums(sums)
				require.Equal(t, []float64{7, 1.5, 8, 7}, sums)
			}
		})
	}
}

func TestAllNamesOfAFormatAreKnown(t *testing.T) {
	data := formatted(t)
	for alias, canonical := range mediatype.Aliases {
		for batch, err := range algorithms.Batches(t.Context(), typed(alias, data[canonical]), batching(4, 10)) {
			require.NoError(t, err, alias)
			require.Equal(t, 3, batch.Rows())
		}
		require.Equal(t, canonical == mediatype.JSONLines || canonical == mediatype.LibSVM, channel.Config{ContentType: alias}.Lines(), alias)
	}
}

func TestALabelThatIsNoNumberIsAnError(t *testing.T) {
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	require.NoError(t, w.WriteRow([]float32{1, 2}, 1))
	require.NoError(t, w.WriteRow([]float32{1, 2}, float32(math.NaN())))
	require.NoError(t, w.Flush())
	for _, sparse := range []bool{false, true} {
		p := batching(2, 10)
		p.Sparse = sparse
		for _, err := range algorithms.Batches(t.Context(), train(b.Bytes()), p) {
			require.ErrorContains(t, err, "record 1 at byte 52: the label is NaN")
		}
	}
}

func TestALongerLineThanAllowedIsAnError(t *testing.T) {
	p := batching(3, 10)
	p.MaxRecord = 5
	for _, err := range algorithms.Batches(t.Context(), typed("text/csv;label_size=0", []byte("1,2,3\n1,2,30\n")), p) {
		require.ErrorContains(t, err, "line 2: longer than 5 bytes")
	}
}

func TestBadTextInAFileIsNamedByTheFileToo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte("1,2\n3,4"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.csv"), []byte("1,2\n3,x\n"), 0o644))
	config := channel.Config{ContentType: "text/csv;label_size=0"}
	c := &channel.Channel{Name: "train", Config: config, Source: channel.Files{Dir: dir, Lines: config.Lines()}}
	var failed error
	for _, failed = range algorithms.Batches(t.Context(), c, batching(2, 10)) {
	}
	require.EqualError(t, failed, `channel train, epoch 0: line 4, column 2: "x": not a number (byte 4 of b.csv)`)
}

func TestLabelSizeSaysHowManyColumnsAreLabels(t *testing.T) {
	for contentType, want := range map[string]struct{ labels, features []float32 }{
		"text/csv;label_size=0": {nil, []float32{1, 2, 3}},
		"text/csv":              {[]float32{1}, []float32{2, 3}},
		"text/csv;label_size=2": {[]float32{1, 2}, []float32{3}},
	} {
		for batch, err := range algorithms.Batches(t.Context(), typed(contentType, []byte("1,2,3\n")), batching(len(want.features), 1)) {
			require.NoError(t, err)
			require.Equal(t, want.features, batch.X.Data)
			require.ElementsMatch(t, want.labels, batch.Labels)
			require.Equal(t, len(want.labels), batch.LabelSize)
		}
	}
}

func TestBadTextIsNamedByLine(t *testing.T) {
	for _, c := range []struct{ contentType, data, want string }{
		{"text/csv;label_size=0", "1,2\n3,x\n", `channel train, epoch 0: line 2, column 2: "x": not a number`},
		{"text/csv;label_size=0", "a,b\n1,2\n", "header"},
		{"text/csv;label_size=0", "1,2\n1,2,3\n", "line 2: "},
		{"text/csv;label_size=0", "1,2\n1,NaN\n", "line 2, column 2: "},
		{"text/csv", "1,2\n", "line 1: 1 features, want 2"},
		{"text/csv;label_size=3", "1,2\n", "line 1: 2 columns, of which 3 are labels"},
		{"text/csv;label_size=x", "1,2\n", `label_size "x" is no number of columns`},
		{"text/libsvm", "1 1:2\n1 3:4\n", "line 2: key 2 in a row of 2 features"},
		{"application/jsonlines", `{"features": [1, 2]}` + "\n{}\n", "line 2: "},
		{"text/plain", "x", `content type "text/plain" is not supported`},
		{"application/x-recordio", "x", "algorithms.Records reads them"},
		{";", "x", "channel train, epoch 0: content type"},
	} {
		for _, sparse := range []bool{false, true} {
			p := batching(2, 10)
			p.Sparse = sparse
			for _, err := range algorithms.Batches(t.Context(), typed(c.contentType, []byte(c.data)), p) {
				require.ErrorContains(t, err, c.want)
				require.Equal(t, 2, algospec.ExitStatus(err), "a client error: %v", err)
			}
		}
	}
}

func TestTheLastPartialBatchIsLeftOutWhereTheAlgorithmAsks(t *testing.T) {
	for rows, want := range map[int]int{9: 9, 10: 9, 11: 9, 2: 0} {
		p := batching(2, 3)
		p.DropLast = true
		got := 0
		for batch, err := range algorithms.Batches(t.Context(), train(stream(t, rows, 2, false)), p) {
			require.NoError(t, err)
			require.Equal(t, 3, batch.Rows())
			got += batch.Rows()
		}
		require.Equal(t, want, got)
	}
}

func TestHowFarAheadIsDecodedChangesNothing(t *testing.T) {
	for _, ahead := range []int{1, 2, 7} {
		p := batching(2, 3)
		p.Ahead = ahead
		next := int64(0)
		for batch, err := range algorithms.Batches(t.Context(), train(stream(t, 100, 2, false)), p) {
			require.NoError(t, err)
			require.Equal(t, next, batch.First)
			require.Equal(t, float32(100*next), batch.Row(0)[0])
			next += int64(batch.Rows())
		}
		require.Equal(t, int64(100), next)
	}
}

func TestRecordsAreBytes(t *testing.T) {
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for _, text := range []string{"an image", "", "another"} {
		require.NoError(t, w.Write([]byte(text)))
	}
	require.NoError(t, w.Flush())
	var got []string
	for record, err := range algorithms.Records(t.Context(), typed("application/x-recordio", b.Bytes()), algorithms.Framing{}) {
		require.NoError(t, err)
		got = append(got, string(record))
	}
	require.Equal(t, []string{"an image", "", "another"}, got)
	split := []byte("\x0a\x23\xd7\xce\x04\x00\x00\x20AAAA\x0a\x23\xd7\xce\x02\x00\x00\x60BB\x00\x00")
	for record, err := range algorithms.Records(t.Context(), typed("", split), algorithms.Framing{Multipart: recordio.DMLC}) {
		require.NoError(t, err)
		require.Equal(t, "AAAA\x0a\x23\xd7\xceBB", string(record))
	}
	for _, err := range algorithms.Records(t.Context(), typed("", b.Bytes()), algorithms.Framing{MaxRecord: 7}) {
		require.ErrorIs(t, err, recordio.ErrTooLarge)
	}
	for _, err := range algorithms.Records(t.Context(), typed("", []byte("not RecordIO")), algorithms.Framing{}) {
		require.ErrorContains(t, err, "channel train, epoch 0: recordio: record 0 at byte 0: bad magic number")
	}
}
