package s3stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// What a source holds never exceeds its ReadAhead for each open epoch, with a
// reader that is slower than S3, and it gives all of it back.
func TestHeldMemoryIsBoundedWhileTheReaderIsSlow(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 500_000, 3, 0, 40_000, 100, 300_000)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	for i := range objects {
		if i%2 == 1 {
			objects[i].Size, objects[i].ETag = unknown, ""
		}
	}
	for _, opts := range []Options{small, small.with(func(o *Options) { o.PartSize = 0 }), {ReadAhead: 100_000, Concurrency: 1}, {ReadAhead: 1_000, PartSize: 1 << 20}} {
		source := NewSource(server.Client(), objects, opts)
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		var most int64
		var got []byte
		for piece := make([]byte, 7_000); ; {
			n, err := stream.Read(piece)
			got = append(got, piece[:n]...)
			most = max(most, source.Stats().Held)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		requireSame(t, want, got)
		require.LessOrEqual(t, most, opts.ReadAhead)
		require.Positive(t, most)
		require.NoError(t, stream.Close())
		require.Zero(t, source.Stats().Held)
		require.Zero(t, source.Stats().Active)
	}
}

func TestTheBlockThatCameBackLastIsUsedFirst(t *testing.T) {
	source := NewSource(nil, nil, Options{ReadAhead: 64 << 10, Concurrency: 8})
	blocks := newBlocks(source)
	taken, err := blocks.take(t.Context(), 4)
	require.NoError(t, err)
	require.Len(t, taken, 2, "the share of a request") // of 16 blocks and 8 requests
	more, err := blocks.take(t.Context(), 1)
	require.NoError(t, err)
	for _, block := range []([]byte){taken[0], more[0], taken[1][:5]} {
		blocks.give(block)
	}
	require.EqualValues(t, 0, source.Stats().Held)
	again, err := blocks.take(t.Context(), 2)
	require.NoError(t, err)
	require.Same(t, &taken[1][0], &again[0][0])
	require.Len(t, again[0], 4096, "whole")
	require.Same(t, &more[0][0], &again[1][0])
	require.Len(t, blocks.made, 3)
	blocks.leave()
	require.EqualValues(t, 0, source.Stats().Held)
}

func TestCloseAtAnyMoment(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	server := startServer(t)
	for i := range 6 {
		put(t, server, fmt.Sprintf("part-%d", i), gzipped(bytes.Repeat(noise(i, 997), i*i*60)))
	}
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 90 {
		opts := small
		opts.Gzip, opts.RecordIO, opts.Lines = i%2 == 1, i%3 == 1, i%5 == 1
		source := NewSource(server.Client(), objects, opts)
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		var running sync.WaitGroup
		if i%4 != 3 {
			running.Go(func() {
				var err error
				if i%4 == 0 {
					_, err = io.Copy(io.Discard, onlyReader{stream})
				} else {
					_, err = stream.(io.WriterTo).WriteTo(writerFunc(func(p []byte) (int, error) {
						sum := 0
						for _, b := range p { // a block that is used again shows as a race
							sum += int(b)
						}
						return len(p), nil
					}))
				}
				if err != nil {
					require.ErrorIs(t, err, os.ErrClosed)
				}
			})
		}
		pause(t.Context(), time.Duration(random.IntN(4_000))*time.Microsecond) // any moment
		for range 2 {
			running.Go(func() { require.NoError(t, stream.Close()) })
		}
		running.Wait()
		require.Zero(t, source.Stats().Held)
		require.Zero(t, source.Stats().Active)
	}
}

func TestTwoEpochsMayBeOpenAtOnce(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 50_000, 100, 0, 100_000)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	for name, opts := range map[string]Options{
		"small": small, "one request": {Concurrency: 1}, "one byte": {Concurrency: 1, ReadAhead: 1, PartSize: 20_000}, "few bytes": {Concurrency: 2, ReadAhead: 2_000},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "one byte" {
				want, objects := want[:2_000], Objects{{Bucket: "data", Key: "part-000000", Size: 50_000}}
				source := NewSource(server.Client(), objects, opts)
				readTwo(t, source, want)
				return
			}
			readTwo(t, NewSource(server.Client(), objects, opts), want)
		})
	}
}

// readTwo reads two epochs by turns while a third is open and not read at all.
func readTwo(t *testing.T, source *Source, want []byte) {
	var epochs [3]io.ReadCloser
	for i := range epochs {
		var err error
		epochs[i], err = source.Open(t.Context(), i)
		require.NoError(t, err)
		defer epochs[i].Close()
	}
	var got [2][]byte
	for len(got[0]) < len(want) {
		for i := range got {
			piece := make([]byte, min(3_000, len(want)-len(got[i])))
			_, err := io.ReadFull(epochs[i], piece)
			require.NoError(t, err)
			got[i] = append(got[i], piece...)
		}
	}
	requireSame(t, want, got[0])
	requireSame(t, want, got[1])
	for _, epoch := range epochs {
		require.NoError(t, epoch.Close())
	}
	require.Zero(t, source.Stats().Held)
	require.Zero(t, source.Stats().Active)
	require.Equal(t, 3, source.Stats().Epochs)
}

// Blocks go from one epoch to the next, and one that a writer still has does not.
func TestABlockThatIsBeingWrittenIsNotGivenAway(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 300_000)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	source := NewSource(server.Client(), objects, Options{ReadAhead: 16 * 64 << 10, PartSize: 64 << 10})
	first, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	writing, done := make(chan []byte), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		_, err := first.(io.WriterTo).WriteTo(writerFunc(func(p []byte) (int, error) {
			writing <- p
			<-done
			return len(p), nil
		}))
		require.ErrorIs(t, err, os.ErrClosed)
	})
	held := <-writing
	before := bytes.Clone(held)
	require.NoError(t, first.Close(), "it does not wait for the writer")
	second, err := source.Open(t.Context(), 1)
	require.NoError(t, err)
	got, err := io.ReadAll(second)
	require.NoError(t, err)
	requireSame(t, want, got)
	requireSame(t, before, held)
	require.NoError(t, second.Close())
	close(done)
	running.Wait()
}

func TestAnEpochOfThousandsOfEmptyItems(t *testing.T) {
	list := make(items, 10_000)
	var want, records, lines bytes.Buffer
	for i := range list {
		if i%2 == 0 {
			list[i] = Item{Object: &Object{Bucket: "data", Key: fmt.Sprint(i)}}
			records.Write(wrappedOracle(0, nil))
			continue
		}
		list[i] = Item{Text: fmt.Append(nil, i)}
		want.Write(list[i].Text)
		records.Write(wrappedOracle(0, list[i].Text))
		if lines.Len() > 0 {
			lines.WriteByte('\n')
		}
		lines.Write(list[i].Text)
	}
	requireEveryWay(t, NewSource(nil, list, Options{}), want.Bytes())
	requireEveryWay(t, NewSource(nil, list, Options{Lines: true}), lines.Bytes())
	requireEveryWay(t, NewSource(nil, list, Options{RecordIO: true, Concurrency: 1, ReadAhead: 1}), records.Bytes())
	requireEveryWay(t, NewSource(nil, list, Options{RecordIO: true, Gzip: true}), records.Bytes())

	unread, err := NewSource(nil, list, Options{}).Open(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, unread.Close())
}

func TestListsWithoutUnitsMakeEpochsThatEndAtOnce(t *testing.T) {
	for name, list := range map[string]Listing{"nil": nil, "nil objects": Objects(nil), "no objects": Objects{}, "no items": items{}} {
		for way, change := range map[string]func(o *Options){
			"bytes": func(*Options) {}, "gzip": unzipping, "records": wrapping(0), "lines": func(o *Options) { o.Lines = true },
			"shuffled shard": func(o *Options) { o.Shuffle, o.Shard = &Shuffle{}, Shard{Index: 2, Count: 5} },
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				source := NewSource(nil, list, Options{}.with(change))
				requireEveryWay(t, source, nil)
				require.Zero(t, source.Stats().Requests)
			})
		}
	}
}

// An error stays the same, whichever way it is asked for, and ends what runs.
func TestAnErrorStays(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 100, 50_000, 50_000)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if isGet(r) && r.URL.Path == "/data/part-000001" {
			return &s3test.Fault{Status: 403, Code: "AccessDenied"}
		}
		return nil
	})
	stream := openList(t, server.Client(), objects, small)
	_, err = io.Copy(io.Discard, onlyReader{stream})
	require.Error(t, err)
	_, again := stream.Read(make([]byte, 1))
	require.Equal(t, err, again)
	n, again := stream.(io.WriterTo).WriteTo(io.Discard)
	require.Equal(t, err, again)
	require.Zero(t, n)
	require.NoError(t, stream.Close())
	_, again = stream.Read(make([]byte, 1))
	require.Equal(t, err, again, "after Close too")
}

// The bytes before an error are delivered, by WriteTo as by Read.
func TestWriteToDeliversWhatIsBeforeAnError(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": []byte("a"), "b": []byte("b")}}
	list := append(client.list(client.sized, "a", "b"), Object{Bucket: "data", Key: "missing", Size: 1})
	var got bytes.Buffer
	n, err := openList(t, client, list, small).(io.WriterTo).WriteTo(&got)
	require.ErrorContains(t, err, "s3://data/missing at byte 0: no object missing")
	require.EqualValues(t, 2, n)
	require.Equal(t, "ab", got.String())
}

// Small chunks are written together, but they do not wait while S3 does.
func TestWriteToDoesNotHoldBackWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &ram{objects: map[string][]byte{"a": []byte("a"), "b": []byte("b"), "c": []byte("c")}}
		client.meddle = func(ctx context.Context, in *s3.GetObjectInput, _ *s3.GetObjectOutput) error {
			if *in.Key == "c" {
				pause(ctx, time.Hour)
			}
			return nil
		}
		stream := openList(t, client, client.list(client.sized, "a", "b", "c"), Options{Idle: 2 * time.Hour, Slow: 2 * time.Hour})
		defer stream.Close()
		began := time.Now()
		var writes []string
		_, err := stream.(io.WriterTo).WriteTo(writerFunc(func(p []byte) (int, error) {
			writes = append(writes, fmt.Sprint(string(p), " after ", time.Since(began)))
			return len(p), nil
		}))
		require.NoError(t, err)
		require.Equal(t, "c after 1h0m0s", writes[len(writes)-1])
		require.Contains(t, []string{"ab after 0s", "b after 0s"}, writes[len(writes)-2])
	})
}

func TestWriterThatTakesTooLittleIsAnError(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": noise(1, 1_000)}}
	n, err := openList(t, client, client.list(client.sized, "a"), small).(io.WriterTo).WriteTo(writerFunc(func(p []byte) (int, error) { return 7, nil }))
	require.Equal(t, io.ErrShortWrite, err)
	require.EqualValues(t, 7, n)

	failed := errors.New("broken pipe")
	n, err = openList(t, client, client.list(client.sized, "a"), small).(io.WriterTo).WriteTo(writerFunc(func(p []byte) (int, error) { return 5, failed }))
	require.Equal(t, failed, err)
	require.EqualValues(t, 5, n)
}

func TestOptionsHaveTheDocumentedDefaults(t *testing.T) {
	o := Options{}.withDefaults()
	require.EqualValues(t, 256<<20, o.ReadAhead)
	require.Zero(t, o.PartSize, "as measured")
	require.Equal(t, 64, o.Concurrency)
	require.Equal(t, 10, o.Tries)
	require.Equal(t, 20*time.Second, o.MaxBackoff)
	require.Equal(t, 30*time.Second, o.Idle)
	require.Equal(t, 2*time.Second, o.Slow)
	require.NotNil(t, o.Logger)
	negative := Options{ReadAhead: -1, Concurrency: -1, Tries: -1, MaxBackoff: -1, Idle: -1, Slow: -1}.withDefaults()
	negative.Logger = o.Logger
	require.Equal(t, o, negative)
	for _, c := range []struct {
		readAhead, block int64
		count, least     int
	}{
		{1, 1, 1, 1}, {15, 1, 15, 15}, {16, 1, 16, 16}, {100, 6, 16, 16}, {1 << 20, 64 << 10, 16, 16},
		{4 << 20, 256 << 10, 16, 16}, {256 << 20, 256 << 10, 1024, 16},
	} {
		o := Options{ReadAhead: c.readAhead}.withDefaults()
		require.Equal(t, c.block, o.blockSize())
		require.Equal(t, c.count, o.blockCount())
		require.Equal(t, c.least, o.leastBlocks())
		require.LessOrEqual(t, o.blockSize()*int64(o.blockCount()), c.readAhead)
	}
}
