package s3stream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

func TestStatsCountWhatWasDone(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 100, 0, 20_000, 5)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	var once sync.Once
	server.SetFault(func(r *http.Request) (fault *s3test.Fault) {
		if isGet(r) && r.URL.Path == "/data/part-000000" {
			once.Do(func() { fault = &s3test.Fault{At: 60, Cut: true} })
		}
		return fault
	})
	source := NewSource(server.Client(), objects, small)
	require.Equal(t, Stats{Limit: 4, PartSize: 10_000}, source.Stats())

	stream, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	_, err = io.ReadFull(stream, make([]byte, 120))
	require.NoError(t, err)
	stats := source.Stats()
	require.EqualValues(t, 120, stats.Bytes)
	require.EqualValues(t, 2, stats.Items)
	_, err = io.Copy(io.Discard, stream)
	require.NoError(t, err)
	require.NoError(t, stream.Close())

	stats = source.Stats()
	require.EqualValues(t, len(want), stats.Bytes)
	require.EqualValues(t, 4, stats.Items)
	require.Equal(t, 1, stats.Epochs)
	require.EqualValues(t, len(want), stats.Fetched)
	require.EqualValues(t, 1+1+2+1, stats.Requests, "two of the large object, none of the empty one, and one again")
	require.EqualValues(t, 1, stats.Retries)
	require.Zero(t, stats.Throttled)
	require.Zero(t, stats.Cut)
	require.Zero(t, stats.Active)
	require.Zero(t, stats.Held)
	require.Equal(t, 4, stats.Limit)
	require.Positive(t, stats.WaitedForS3)

	again, err := source.Open(t.Context(), 1) // they add up
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, again)
	require.NoError(t, err)
	require.NoError(t, again.Close())
	stats = source.Stats()
	require.EqualValues(t, 2*len(want), stats.Bytes)
	require.EqualValues(t, 8, stats.Items)
	require.Equal(t, 2, stats.Epochs)
	require.EqualValues(t, 5+4, stats.Requests)
}

func TestStatsCountItemsOfEveryKind(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": []byte("rose"), "b": nil}}
	list := items{{Text: []byte("1")}, {Object: &client.list(unsized, "a")[0]}, {Object: &client.list(unsized, "b")[0]}, {}, {Object: &Object{Bucket: "data", Key: "a", Size: 4}}}
	for name, change := range map[string]func(o *Options){"bytes": func(*Options) {}, "lines": func(o *Options) { o.Lines = true }, "records": wrapping(0)} {
		t.Run(name, func(t *testing.T) {
			source := NewSource(client, list, small.with(change))
			stream, err := source.Open(t.Context(), 0)
			require.NoError(t, err)
			defer stream.Close()
			got, err := io.ReadAll(stream)
			require.NoError(t, err)
			stats := source.Stats()
			require.EqualValues(t, 5, stats.Items)
			require.EqualValues(t, len(got), stats.Bytes, "as delivered")
			require.EqualValues(t, 8, stats.Fetched)
			require.EqualValues(t, 3, stats.Requests)
		})
	}
}

func TestStatsSayWhoWaitsForWhom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &ram{objects: map[string][]byte{"a": noise(1, 10_000)}, meddle: func(ctx context.Context, _ *s3.GetObjectInput, _ *s3.GetObjectOutput) error {
			pause(ctx, 3*time.Second)
			return nil
		}}
		source := NewSource(client, client.list(client.sized, "a"), Options{})
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		_, err = io.ReadFull(stream, make([]byte, 10))
		require.NoError(t, err)
		time.Sleep(7 * time.Second)
		_, err = io.ReadFull(stream, make([]byte, 10))
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, source.Stats().WaitedForS3)
		require.Equal(t, 7*time.Second, source.Stats().WaitedForReader)
		_, err = stream.(io.WriterTo).WriteTo(writerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Second)
			return len(p), nil
		}))
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, source.Stats().WaitedForS3)
		require.Equal(t, 8*time.Second, source.Stats().WaitedForReader)
	})
}

func TestWatchYieldsNowAfterEachIntervalAndALastTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := NewSource(nil, nil, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		began := time.Now()
		var at []time.Duration
		for range source.Watch(ctx, time.Second) {
			at = append(at, time.Since(began))
		}
		require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 3500 * time.Millisecond}, at)

		count := 0
		for range source.Watch(ctx, time.Second) { // that is over already
			count++
		}
		require.Equal(t, 2, count, "now, and a last time")
		for range source.Watch(t.Context(), time.Hour) {
			break
		}
	})
}

type locator interface {
	Locate(offset int64) (name string, at int64)
}

func TestLocateFindsTheObjectOfAByte(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": noise(1, 100), "b": noise(2, 30_000), "c": nil, "d": noise(3, 5)}}
	for name, list := range map[string]Objects{"sized": client.list(client.sized, "a", "b", "c", "d"), "unsized": client.list(unsized, "a", "b", "c", "d")} {
		t.Run(name, func(t *testing.T) {
			stream := openList(t, client, list, small)
			locate := func(offset int64) string {
				name, at := stream.(locator).Locate(offset)
				return fmt.Sprint(name, " ", at)
			}
			require.Equal(t, " 0", locate(0), "before the first byte")
			_, err := io.ReadFull(stream, make([]byte, 40))
			require.NoError(t, err)
			require.Equal(t, "s3://data/a 0", locate(0))
			require.Equal(t, "s3://data/a 39", locate(39))
			require.Equal(t, " 0", locate(41), "not delivered yet")
			require.Equal(t, " 0", locate(-1))
			_, err = io.Copy(io.Discard, stream)
			require.NoError(t, err)
			require.Equal(t, "s3://data/a 99", locate(99))
			require.Equal(t, "s3://data/b 0", locate(100))
			require.Equal(t, "s3://data/b 29999", locate(30_099))
			require.Equal(t, "s3://data/d 0", locate(30_100))
			require.Equal(t, "s3://data/d 4", locate(30_104))
			require.Equal(t, "s3://data/d 5", locate(30_105), "the end")
			require.Equal(t, " 0", locate(30_106))
		})
	}
}

func TestLocateKnowsTheLastThousandsOfObjects(t *testing.T) {
	const n = 20_000
	client := &ram{objects: map[string][]byte{}}
	list := make(Objects, n)
	for i := range list {
		key := fmt.Sprint(i)
		client.objects[key] = []byte("abc")
		list[i] = Object{Bucket: "data", Key: key, Size: 3}
	}
	stream := openList(t, client, list, Options{ReadAhead: 1 << 20})
	_, err := io.Copy(io.Discard, stream)
	require.NoError(t, err)
	known := 0
	for i := range n {
		name, at := stream.(locator).Locate(int64(3*i + 2))
		if name == "" {
			require.Zero(t, known, "what is forgotten is the oldest")
			continue
		}
		known++
		require.Equal(t, fmt.Sprint("s3://data/", i), name)
		require.EqualValues(t, 2, at)
	}
	require.GreaterOrEqual(t, known, placesKept/2)
	require.LessOrEqual(t, known, placesKept)
}

func TestLocateOfTexts(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": []byte("rose")}}
	list := items{{Text: []byte("12")}, {Object: &client.list(unsized, "a")[0]}, {Text: []byte("3")}}
	stream := openList(t, client, list, small)
	_, err := io.Copy(io.Discard, stream)
	require.NoError(t, err)
	for offset, want := range []string{" 0", " 0", "s3://data/a 0", "s3://data/a 1", "s3://data/a 2", "s3://data/a 3", " 0"} {
		name, at := stream.(locator).Locate(int64(offset))
		require.Equal(t, want, fmt.Sprint(name, " ", at), "byte %d", offset)
	}
}

func TestLocateKnowsNothingOfWhatIsMadeOfObjects(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": gzipped([]byte("rose"))}}
	for name, change := range map[string]func(o *Options){"gzip": unzipping, "lines": func(o *Options) { o.Lines = true }, "records": wrapping(0)} {
		t.Run(name, func(t *testing.T) {
			stream := openList(t, client, client.list(client.sized, "a"), small.with(change))
			_, err := io.Copy(io.Discard, stream)
			require.NoError(t, err)
			object, at := stream.(locator).Locate(2)
			require.Empty(t, object)
			require.Zero(t, at)
		})
	}
}

// Another goroutine may ask while the stream is read.
func TestStatsAndLocateMayBeCalledAtAnyTime(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 50_000, 100, 100_000)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	source := NewSource(server.Client(), objects, small)
	stream, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for stats := range source.Watch(ctx, 100*time.Microsecond) {
			stream.(locator).Locate(stats.Bytes)
		}
	})
	_, err = io.Copy(io.Discard, onlyReader{stream})
	require.NoError(t, err)
	require.NoError(t, stream.Close())
	cancel()
	running.Wait()
}
