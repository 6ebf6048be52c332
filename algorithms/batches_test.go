package algorithms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// stream returns n rows of d features; feature j of row i is 100i+j, and its label, if labelled, i.
func stream(tb testing.TB, n, d int, labelled bool) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for i := range n {
		row := make([]float32, d)
		for j := range row {
			row[j] = float32(100*i + j)
		}
		var label []float32
		if labelled {
			label = []float32{float32(i)}
		}
		require.NoError(tb, w.WriteRow(row, label...))
	}
	require.NoError(tb, w.Flush())
	return b.Bytes()
}

func train(data []byte) *channel.Channel {
	return &channel.Channel{Name: "train", Source: channel.Memory(data)}
}

func batching(d, size int) algorithms.Batching {
	return algorithms.Batching{FeatureDim: d, MiniBatchSize: size}
}

// sourceFunc is a Source made of a function.
type sourceFunc func(ctx context.Context) io.Reader

func (f sourceFunc) Open(ctx context.Context, _ int) (io.ReadCloser, error) {
	return io.NopCloser(f(ctx)), nil
}

func TestEveryRowComesOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(t, "rows")
		size := rapid.IntRange(1, 60).Draw(t, "batch size")
		labelled := rapid.Bool().Draw(t, "labelled")
		var b bytes.Buffer
		w := recordio.NewWriter(&b)
		for i := range n {
			label := []float32{float32(i)}
			require.NoError(t, w.WriteRow([]float32{float32(100 * i), float32(100*i + 1)}, label[:map[bool]int{true: 1}[labelled]]...))
		}
		require.NoError(t, w.Flush())
		source := sourceFunc(func(context.Context) io.Reader { return iotest.HalfReader(bytes.NewReader(b.Bytes())) })
		i, seen := 0, int64(0)
		for batch, err := range algorithms.Batches(context.Background(), &channel.Channel{Name: "train", Source: source}, batching(2, size)) {
			require.NoError(t, err)
			require.Equal(t, int64(i), batch.First)
			require.Equal(t, min(size, n-i), batch.Rows())
			seen += batch.Bytes
			for r := range batch.Rows() {
				require.Equal(t, []float32{float32(100 * i), float32(100*i + 1)}, batch.Row(r))
				if labelled {
					require.Equal(t, []float32{float32(i)}, batch.Label(r))
				} else {
					require.Empty(t, batch.Label(r))
				}
				i++
			}
		}
		require.Equal(t, n, i)
		require.Equal(t, int64(b.Len()), seen)
	})
}

func record(tb testing.TB, values []float32, keys, shape []uint64) []byte {
	tb.Helper()
	payload, err := proto.Marshal(&recordpb.Record{Features: map[string]*recordpb.Value{"values": {
		Value: &recordpb.Value_Float32Tensor{Float32Tensor: &recordpb.Float32Tensor{Values: values, Keys: keys, Shape: shape}},
	}}})
	require.NoError(tb, err)
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	require.NoError(tb, w.Write(payload))
	require.NoError(tb, w.Flush())
	return b.Bytes()
}

func TestBadDataAreNamedByPlace(t *testing.T) {
	good := stream(t, 3, 2, false) // 32 bytes a record
	nan := float32(math.NaN())
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"wrong feature count in the middle", slices.Concat(good, stream(t, 1, 3, false), good),
			"channel train, epoch 0: recordio: record 3 at byte 96: 3 features, want 2"},
		{"wrong feature count at once", stream(t, 1, 3, false), "channel train, epoch 0: recordio: record 0 at byte 0: 3 features, want 2"},
		{"gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), "record 0 at byte 0: bad magic number 1f 8b 08 00: this looks like gzip, not RecordIO"},
		{"CSV", []byte("1,2\n3,4\n"), "this looks like CSV, not RecordIO"},
		{"JSON", []byte(`{"a": [1, 2]}`), "this looks like JSON, not RecordIO"},
		{"cut", good[:70], "channel train, epoch 0: recordio: record 2 at byte 64: the stream ends inside the record"},
		{"NaN", record(t, []float32{1, nan}, nil, nil), "record 0 at byte 0: feature 1 is NaN"},
		{"infinity", slices.Concat(good, record(t, []float32{float32(math.Inf(-1)), 0}, nil, nil)), "record 3 at byte 96: feature 0 is -Inf"},
		{"some labels", slices.Concat(good, stream(t, 1, 2, true)), "record 3 at byte 96: a label of 1 values after labels of 0"},
		{"sparse key past the row", record(t, []float32{1}, []uint64{2}, nil), "record 0 at byte 0: key 2 in a row of 2 features"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var failed error
			for _, err := range algorithms.Batches(t.Context(), train(c.data), batching(2, 2)) {
				require.NoError(t, failed, "the error is the last")
				failed = err
			}
			require.ErrorContains(t, failed, c.want)
			require.Equal(t, 2, algospec.ExitStatus(failed), "a client error")
		})
	}
}

func TestBadDataInAFileAreNamedByTheFileToo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "part-0"), stream(t, 3, 2, false), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "part-1"), slices.Concat(stream(t, 1, 2, false), stream(t, 1, 3, false)), 0o644))
	c := &channel.Channel{Name: "train", Source: channel.Files{Dir: dir}}
	var failed error
	for _, failed = range algorithms.Batches(t.Context(), c, batching(2, 10)) {
	}
	require.EqualError(t, failed, "channel train, epoch 0: recordio: record 4 at byte 128: 3 features, want 2 (byte 32 of part-1)")
}

func TestSparseRowsAreMadeDense(t *testing.T) {
	data := slices.Concat(record(t, []float32{5, 7}, []uint64{3, 0}, []uint64{4}), record(t, nil, nil, []uint64{4}))
	for _, p := range []algorithms.Batching{batching(4, 9), {MiniBatchSize: 9, MaxColumns: 4}} {
		for batch, err := range algorithms.Batches(t.Context(), train(data), p) {
			require.NoError(t, err)
			require.Equal(t, []float32{7, 0, 0, 5, 0, 0, 0, 0}, batch.X.Data)
		}
	}
}

func TestHugeSettingsCostNoMemory(t *testing.T) {
	p := batching(2, math.MaxInt)
	rows := 0
	for batch, err := range algorithms.Batches(t.Context(), train(stream(t, 10, 2, false)), p) {
		require.NoError(t, err)
		rows += batch.Rows()
	}
	require.Equal(t, 10, rows)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, err := range algorithms.Batches(t.Context(), train(stream(t, 1, 2, false)), batching(math.MaxInt32, 10)) {
		require.ErrorContains(t, err, "2 features, want 2147483647")
	}
	for _, err := range algorithms.Batches(t.Context(), train(record(t, nil, nil, []uint64{1 << 40})), algorithms.Batching{MiniBatchSize: 1, MaxColumns: 100}) {
		require.ErrorContains(t, err, "too wide to be made dense")
	}
	tiny := slices.Repeat(record(t, nil, nil, []uint64{1 << 24}), 100) // 1,600 bytes, 6.4 GB as dense rows
	for _, err := range algorithms.Batches(t.Context(), train(tiny), algorithms.Batching{MiniBatchSize: 100, MaxColumns: 1 << 15}) {
		require.ErrorContains(t, err, "16777216 features, more than the 32768 that the algorithm takes")
	}
	wide := typed("application/jsonlines", []byte(`{"data":{"features":{"keys":[0],"shape":[268435456],"values":[1]}}}`))
	for _, err := range algorithms.Batches(t.Context(), wide, batching(1<<28, 1)) {
		require.Error(t, err)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}

func TestLeavingTheLoopEndsTheEpoch(t *testing.T) {
	c := train(stream(t, 1000, 2, false))
	for range 3 {
		for _, err := range algorithms.Batches(t.Context(), c, batching(2, 10)) {
			require.NoError(t, err)
			break
		}
	}
	epoch, err := c.Open(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, epoch.Number)
	require.NoError(t, epoch.Close())
}

func TestAStopReachesALoopThatWaitsForData(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	source := sourceFunc(func(ctx context.Context) io.Reader {
		return io.MultiReader(bytes.NewReader(stream(t, 25, 2, false)), blocked{ctx})
	})
	batches := 0
	for _, err := range algorithms.Batches(ctx, &channel.Channel{Name: "train", Source: source}, batching(2, 10)) {
		if batches++; batches == 2 {
			cancel(stop)
		}
		if err != nil {
			require.Equal(t, stop, err)
			return
		}
	}
	t.Fatal("no error")
}

// blocked gives nothing until its context ends.
type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, context.Cause(b.ctx)
}

func ExampleBatches() {
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	for i := range 5 {
		w.WriteRow([]float32{float32(i), 1})
	}
	w.Flush()
	c := &channel.Channel{Name: "train", Source: channel.Memory(data.Bytes())}
	p := algorithms.Batching{FeatureDim: 2, MiniBatchSize: 2}
	for batch, err := range algorithms.Batches(context.Background(), c, p) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.First, batch.X.Data)
	}
	// Output:
	// 0 [0 1 1 1]
	// 2 [2 1 3 1]
	// 4 [4 1]
}
