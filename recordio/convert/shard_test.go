package convert_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/recordio/convert"
)

// folder holds shards in memory.
type folder map[string]*shardFile

type shardFile struct {
	bytes.Buffer
	closed bool
}

func (f *shardFile) Close() error {
	f.closed = true
	return nil
}

func (f folder) create(name string) (io.WriteCloser, error) {
	f[name] = new(shardFile)
	return f[name], nil
}

func numbered(n int) *list {
	var rows list
	for i := range n {
		rows.rows = append(rows.rows, convert.Row{Columns: 1, Values: []float32{float32(i)}})
	}
	return &rows
}

func TestShardsAreThoseOfTheSDK(t *testing.T) {
	for _, c := range []struct {
		rows, n int
		names   []string // the first and the last
		sizes   []int
	}{
		{7, 3, []string{"matrix_0.pbr", "matrix_2.pbr"}, []int{2, 2, 3}},
		{3, 3, []string{"matrix_0.pbr", "matrix_2.pbr"}, []int{1, 1, 1}},
		{5, 1, []string{"matrix_0.pbr", "matrix_0.pbr"}, []int{5}},
		{19, 10, []string{"matrix_00.pbr", "matrix_09.pbr"}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 10}},
	} {
		shards := folder{}
		names, err := convert.Shard(shards.create, numbered(c.rows), int64(c.rows), c.n)
		require.NoError(t, err)
		require.Equal(t, c.names, []string{names[0], names[c.n-1]})
		next := float32(0)
		for i, name := range names {
			require.True(t, shards[name].closed)
			rows := decode(t, convert.RecordIO, shards[name].Bytes(), convert.ReadOptions{})
			require.Len(t, rows, c.sizes[i])
			for _, row := range rows {
				require.Equal(t, next, row.Values[0])
				next++
			}
		}
		require.EqualValues(t, c.rows, next)
	}
}

func TestShardRefusesAWrongCount(t *testing.T) {
	for rows, want := range map[int64]string{
		2: "convert: 2 rows in 3 shards",
		6: "convert: more than 6 rows",
		8: "matrix_2.pbr: 3 rows, want 4",
	} {
		_, err := convert.Shard(folder{}.create, numbered(7), rows, 3)
		require.EqualError(t, err, want)
	}
	broken := errors.New("the disk broke")
	_, err := convert.Shard(folder{}.create, &failing{numbered(6), broken}, 6, 3)
	require.Equal(t, broken, err)
	ragged := numbered(5)
	ragged.rows = append(ragged.rows, convert.Row{Columns: 2, Values: []float32{1, 2}})
	_, err = convert.Shard(folder{}.create, ragged, 6, 3)
	require.EqualError(t, err, "matrix_2.pbr: row 1: 2 features, want 1 as in the first row")
	full := errors.New("no space")
	_, err = convert.Shard(func(string) (io.WriteCloser, error) { return nil, full }, numbered(7), 7, 3)
	require.ErrorIs(t, err, full)
}

// failing is a Reader that ends with an error.
type failing struct {
	convert.Reader
	err error
}

func (f *failing) Next() (convert.Row, error) {
	row, err := f.Reader.Next()
	if err == io.EOF {
		err = f.err
	}
	return row, err
}

// TestManifest has what json.dumps of Python writes.
func TestManifest(t *testing.T) {
	want := `[{"prefix": "s3://bucket/a&b/"}, "matrix_0.pbr", "matrix_1.pbr"]`
	require.Equal(t, want, string(convert.Manifest("s3://bucket/a&b", []string{"matrix_0.pbr", "matrix_1.pbr"})))
}

func TestCount(t *testing.T) {
	rows, columns, err := convert.Count(&list{rows: []convert.Row{{Keys: []int32{3, 9}}, {Columns: 4}}})
	require.NoError(t, err)
	require.EqualValues(t, 2, rows)
	require.Equal(t, 10, columns)
}

func TestFormatsHaveNames(t *testing.T) {
	for name, want := range map[string]convert.Format{
		"a.csv": convert.CSV, "A.CSV": convert.CSV, "a.csv.gz": convert.CSV, "x/y.svm": convert.LibSVM, "a.libsvm": convert.LibSVM,
		"matrix_0.pbr": convert.RecordIO, "a.recordio": convert.RecordIO, "a.npy": convert.NPY, "a.npz": convert.NPZ, "a.jsonl": convert.JSONLines,
	} {
		got, err := convert.ByPath(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := convert.ByPath("a.parquet")
	require.EqualError(t, err, `"a.parquet": the extension names no known format`)

	for contentType, want := range map[string]struct {
		format convert.Format
		labels int
	}{
		"text/csv": {convert.CSV, 1}, "text/csv;label_size=0": {convert.CSV, 0}, "Text/CSV ; label_size = 2 ; charset=utf-8": {convert.CSV, 2},
		"application/x-recordio-protobuf; version=1.0": {convert.RecordIO, 0}, "text/libsvm": {convert.LibSVM, 0},
	} {
		format, opts, err := convert.ByContentType(contentType)
		require.NoError(t, err)
		require.Equal(t, want.format, format)
		require.Equal(t, want.labels, opts.LabelSize, contentType)
	}
	_, _, err = convert.ByContentType("text/csv;label_size=x")
	require.EqualError(t, err, `content type "text/csv;label_size=x": label_size is not a whole number from 0`)
	_, _, err = convert.ByContentType("image/png")
	require.EqualError(t, err, `content type "image/png" is not supported`)
}
