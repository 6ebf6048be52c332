package s3stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/platform/s3test"
	"github.com/algospec/algospec/recordio"
)

func wrapping(limit int) func(o *Options) {
	return func(o *Options) { o.RecordIO, o.MaxRecord = true, limit }
}

// readRecords takes a stream apart as the algorithm does.
func readRecords(t require.TestingT, stream []byte) (records []string) {
	for record, err := range recordio.NewReader(bytes.NewReader(stream)).All() {
		require.NoError(t, err)
		records = append(records, string(record))
	}
	return records
}

func TestP11ObjectsBecomeRecords(t *testing.T) {
	server := startServer(t)
	var bodies [][]byte
	for i, size := range []int{0, 1, 3, 4, 5, 0, 9, 10, 11, 1_000, 12_345, 0} {
		bodies = append(bodies, noise(i, size))
		put(t, server, fmt.Sprintf("part-%02d", i), bodies[i])
	}
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	for _, limit := range []int{0, 1, 3, 4, 10, 999, 1_000, 12_344, 12_345, recordio.MaxPart, recordio.MaxPart + 1} {
		t.Run(fmt.Sprint("parts of ", limit), func(t *testing.T) {
			want := wrappedOracle(limit, bodies...)
			for i, record := range readRecords(t, want) {
				require.Equal(t, string(bodies[i]), record)
			}
			requireEveryWay(t, NewSource(server.Client(), objects, small.with(wrapping(limit))), want)
		})
	}
}

// Items are objects of known and of unknown size and texts, of any lengths.
func TestP11RecordsOfAnyItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client := &ram{objects: map[string][]byte{}}
		var list items
		var bodies [][]byte
		for i := range rapid.IntRange(0, 12).Draw(t, "items") {
			key, body := fmt.Sprint(i), noise(i, rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 3_000)).Draw(t, "size"))
			bodies = append(bodies, body)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				list = append(list, Item{Text: body})
			case 1:
				list = append(list, Item{Object: &Object{Bucket: "data", Key: key, Size: int64(len(body))}})
			case 2:
				list = append(list, Item{Object: &Object{Bucket: "data", Key: key, Size: unknown}})
			}
			client.objects[key] = body
		}
		opts := Options{
			ReadAhead:   rapid.Int64Range(1, 2_000).Draw(t, "read ahead"),
			PartSize:    rapid.Int64Range(0, 1_000).Draw(t, "part size"),
			Concurrency: rapid.IntRange(1, 5).Draw(t, "concurrency"),
		}
		limit := rapid.IntRange(0, 50).Draw(t, "limit")
		requireEveryWay(t, NewSource(client, list, opts.with(wrapping(limit))), wrappedOracle(limit, bodies...))
		requireEveryWay(t, NewSource(client, list, opts), bytes.Join(bodies, nil))
	})
}

// The objects of a manifest are larger than the memory, so each slides through
// the blocks of one request.
func TestP12LargeReferencesSlideThroughFewBlocks(t *testing.T) {
	client := &ram{objects: map[string][]byte{}}
	var bodies [][]byte
	var keys []string
	for i := range 5 {
		keys = append(keys, fmt.Sprint(i))
		bodies = append(bodies, noise(i, 20_000+i))
		client.objects[keys[i]] = bodies[i]
	}
	for _, opts := range []Options{
		{ReadAhead: 1}, {ReadAhead: 100, Concurrency: 1}, {ReadAhead: 1_000, Concurrency: 3}, {ReadAhead: 64 << 10, Concurrency: 64},
	} {
		t.Run(fmt.Sprint(opts.ReadAhead, " bytes"), func(t *testing.T) {
			source := NewSource(client, client.list(unsized, keys...), opts.with(wrapping(0)))
			stream, err := source.Open(t.Context(), 0)
			require.NoError(t, err)
			defer stream.Close()
			var got []byte
			for piece := make([]byte, 10_000); ; {
				n, err := stream.Read(piece)
				got = append(got, piece[:n]...)
				require.LessOrEqual(t, source.Stats().Held, opts.ReadAhead)
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
			}
			requireSame(t, wrappedOracle(0, bodies...), got)
			require.NoError(t, stream.Close())
			require.Zero(t, source.Stats().Held)
		})
	}
}

func TestP12AugmentedManifestEndToEnd(t *testing.T) {
	server := startServer(t)
	var manifest strings.Builder
	var records [][]byte
	for i := range 100 {
		image, mask := noise(i, i*37%900), noise(-i, i*101%5_000)
		put(t, server, fmt.Sprintf("images/%d.jpg", i), image)
		put(t, server, fmt.Sprintf("masks/%d.png", i), mask)
		fmt.Fprintf(&manifest, `{"mask-ref": "s3://data/masks/%d.png", "class": %d.50, "skip": 1, "source-ref": "s3://data/images/%d.jpg", "box": [ %d , "a b" ], "name": "n\u00e9%d"}`+"\n", i, i, i, i, i)
		records = append(records, image, fmt.Appendf(nil, "%d.50", i), fmt.Appendf(nil, `[%d,"a b"]`, i), mask, fmt.Appendf(nil, "né%d", i))
	}
	put(t, server, "train.manifest", []byte(manifest.String()))
	attributes := []string{"source-ref", "class", "box", "mask-ref", "name"}
	list, err := ReadAugmented(t.Context(), server.Client(), "s3://data/train.manifest", attributes)
	require.NoError(t, err)
	for name, opts := range map[string]Options{"small": small, "default": {}, "one at a time": {Concurrency: 1, ReadAhead: 500}} {
		t.Run(name, func(t *testing.T) {
			read := func(opts Options) []byte {
				got, err := io.ReadAll(openList(t, server.Client(), list, opts))
				require.NoError(t, err)
				return got
			}
			requireSame(t, wrappedOracle(0, records...), read(opts.with(wrapping(0))))
			requireSame(t, bytes.Join(records, nil), read(opts))

			opts.Shuffle = &Shuffle{Seed: 1, Channel: "train"}
			var want [][]byte
			for _, line := range opts.Shuffle.Order(list.Len(), 0) {
				want = append(want, records[5*line:5*line+5]...)
			}
			requireSame(t, wrappedOracle(0, want...), read(opts.with(wrapping(0))))
			opts.Shard = Shard{Index: 1, Count: 3}
			want = want[:0]
			for i, line := range opts.Shuffle.Order(list.Len(), 0) {
				if i%3 == 1 {
					want = append(want, records[5*line:5*line+5]...)
				}
			}
			requireSame(t, wrappedOracle(0, want...), read(opts.with(wrapping(0))))
		})
	}
}

func TestP12AMissingReferenceIsNamed(t *testing.T) {
	server := startServer(t)
	put(t, server, "a", []byte("rose"))
	put(t, server, "m", []byte(`{"a-ref": "s3://data/a", "n": 1}`+"\n"+`{"a-ref": "s3://data/missing", "n": 2}`))
	list, err := ReadAugmented(t.Context(), server.Client(), "s3://data/m", []string{"a-ref", "n"})
	require.NoError(t, err)
	for name, change := range map[string]func(o *Options){"records": wrapping(0), "bytes": func(*Options) {}, "lines": func(o *Options) { o.Lines = true }, "gzip records": func(o *Options) { o.Gzip, o.RecordIO = true, true }} {
		t.Run(name, func(t *testing.T) {
			put(t, server, "a", []byte("rose"))
			if name == "gzip records" {
				put(t, server, "a", gzipped([]byte("rose")))
			}
			got, err := io.ReadAll(openList(t, server.Client(), list, small.with(change)))
			requireObjectError(t, err, "missing", 0, ErrVanished, true)
			switch name {
			case "bytes":
				require.Equal(t, "rose1", string(got))
			case "lines":
				require.Equal(t, "rose\n1", string(got))
			default:
				require.Equal(t, []string{"rose", "1"}, readRecords(t, got))
			}
		})
	}
}

func TestP12AReferenceMayBeAnyBucketsAndIsHealed(t *testing.T) {
	server := startServer(t)
	body := noise(1, 30_000)
	require.NoError(t, server.Put("other", "a b/ü", bytes.NewReader(body)))
	put(t, server, "m", []byte(`{"a-ref": "s3://other/a b/ü"}`))
	list, err := ReadAugmented(t.Context(), server.Client(), "s3://data/m", []string{"a-ref"})
	require.NoError(t, err)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if !strings.HasPrefix(r.URL.Path, "/other/") {
			return nil
		}
		if ranged := r.Header.Get("Range"); ranged != "" && r.Header.Get("If-Match") == "" {
			t.Errorf("asked for %s again without If-Match", ranged)
		}
		return &s3test.Fault{At: 8_000, Cut: true}
	})
	opts := small
	opts.Tries = 10
	got, err := io.ReadAll(openList(t, server.Client(), list, opts.with(wrapping(0))))
	require.NoError(t, err)
	requireSame(t, wrappedOracle(0, body), got)
}

// A reference is another object each time it is asked for, and breaks off.
func TestP12AReferenceThatChangesIsAnError(t *testing.T) {
	server := startServer(t)
	put(t, server, "a", noise(1, 9_000))
	put(t, server, "m", []byte(`{"a-ref": "s3://data/a"}`))
	list, err := ReadAugmented(t.Context(), server.Client(), "s3://data/m", []string{"a-ref"})
	require.NoError(t, err)
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.URL.Path != "/data/a" {
			return nil
		}
		if r.Header.Get("Range") != "" {
			server.Put("data", "a", bytes.NewReader(noise(2, 9_000)))
			return nil
		}
		return &s3test.Fault{At: 5_000, Cut: true}
	})
	got, err := io.ReadAll(openList(t, server.Client(), list, small))
	requireObjectError(t, err, "a", 5_000, ErrChanged, true)
	require.True(t, bytes.HasPrefix(noise(1, 9_000), got))
}

func TestAUnitThatCannotBeReadIsTheErrorAfterWhatIsBeforeIt(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": gzipped([]byte("rose"))}}
	list := items{{Text: []byte("1")}, {Object: &Object{Bucket: "data", Key: "a", Size: unknown}}, {Text: []byte("fail")}, {Text: []byte("2")}}
	for name, c := range map[string]struct {
		change func(o *Options)
		want   []byte
	}{
		"bytes":   {unzipping, []byte("1rose")},
		"lines":   {func(o *Options) { o.Gzip, o.Lines = true, true }, []byte("1\nrose")},
		"records": {func(o *Options) { o.Gzip, o.RecordIO = true, true }, wrappedOracle(0, []byte("1"), []byte("rose"))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(openList(t, client, list, small.with(c.change)))
			require.Equal(t, errUnit, err)
			require.Equal(t, string(c.want), string(got))
		})
	}
}

// The lengths of a listing and of the body differ: there is no record of the
// wrong length, but an error.
func TestP11ARecordIsAsLongAsItsHeaderSays(t *testing.T) {
	for name, listed := range map[string]int64{"longer than listed": 5, "shorter than listed": 15} {
		t.Run(name, func(t *testing.T) {
			client := &memoryClient{bodies: [][]byte{noise(1, 10)}}
			stream, err := NewSource(client, Objects{{Bucket: "data", Key: "0", Size: listed}}, small.with(wrapping(0))).Open(context.Background(), 0)
			require.NoError(t, err)
			defer stream.Close()
			_, err = io.ReadAll(stream)
			requireObjectError(t, err, "0", 0, ErrChanged, true)
		})
	}
}
