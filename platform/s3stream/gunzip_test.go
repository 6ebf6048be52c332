package s3stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"compress/gzip"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
	"github.com/algospec/algospec/recordio"
)

// gzipped compresses each piece as a member.
func gzipped(members ...[]byte) []byte {
	var b bytes.Buffer
	for i, member := range members {
		w, _ := gzip.NewWriterLevel(&b, 1+i%9)
		if i%2 == 1 {
			w.Name, w.Comment, w.Extra = "a name", "a comment", []byte("extra")
		}
		w.Write(member)
		w.Close()
	}
	return b.Bytes()
}

var tiny = Options{ReadAhead: 100, PartSize: 7, Concurrency: 3, Tries: 3, MaxBackoff: 1}

// with returns the options, changed.
func (o Options) with(change func(o *Options)) Options {
	change(&o)
	return o
}

func unzipping(o *Options) { o.Gzip = true }

func TestP10GzipObjectsAreDecompressedEachForItself(t *testing.T) {
	long := bytes.Repeat([]byte("a line that compresses well\n"), 30_000)
	for _, c := range []struct {
		name    string
		objects [][]byte
		want    []byte
	}{
		{"one member", [][]byte{gzipped([]byte("hello"))}, []byte("hello")},
		{"several members", [][]byte{gzipped([]byte("a"), []byte("bc"), noise(1, 900))}, append([]byte("abc"), noise(1, 900)...)},
		{"an empty object", [][]byte{{}}, nil},
		{"an empty member", [][]byte{gzipped(nil)}, nil},
		{"empty members between", [][]byte{gzipped([]byte("a"), nil, nil, []byte("b"), nil)}, []byte("ab")},
		{"several objects", [][]byte{gzipped([]byte("a")), {}, gzipped(nil), gzipped([]byte("b"), []byte("c"))}, []byte("abc")},
		{"larger than a chunk", [][]byte{gzipped(long), gzipped(long[:100])}, append(long[:len(long):len(long)], long[:100]...)},
		{"nothing compressed", [][]byte{gzipped(noise(2, 3_000))}, noise(2, 3_000)},
	} {
		for name, opts := range map[string]Options{"tiny": tiny, "small": small, "default": {}} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				client := &ram{objects: map[string][]byte{}}
				var keys []string
				for i, object := range c.objects {
					keys = append(keys, fmt.Sprint(i))
					client.objects[keys[i]] = object
				}
				for _, size := range []func(string) int64{client.sized, unsized} {
					source := NewSource(client, client.list(size, keys...), opts.with(unzipping))
					requireEveryWay(t, source, c.want)
				}
			})
		}
	}
}

// requireEveryWay reads an epoch in each way that there is.
func requireEveryWay(t require.TestingT, source *Source, want []byte) {
	for _, read := range []func(r io.Reader) ([]byte, error){
		func(r io.Reader) ([]byte, error) { return io.ReadAll(onlyReader{r}) },
		func(r io.Reader) (got []byte, err error) { // a byte at a time
			for p := make([]byte, 1); ; {
				n, err := r.Read(p)
				if got = append(got, p[:n]...); err == io.EOF {
					return got, nil
				} else if err != nil {
					return got, err
				}
				if len(got) > 5_000 { // long enough
					rest, err := io.ReadAll(r)
					return append(got, rest...), err
				}
			}
		},
		func(r io.Reader) ([]byte, error) {
			var b bytes.Buffer
			_, err := r.(io.WriterTo).WriteTo(&b)
			return b.Bytes(), err
		},
	} {
		stream, err := source.Open(context.Background(), 0)
		require.NoError(t, err)
		got, err := read(stream)
		require.NoError(t, err)
		requireSame(t, want, got)
		require.NoError(t, stream.Close())
	}
}

func TestP10DamagedGzipIsAnErrorThatNamesTheObjectAndTheByte(t *testing.T) {
	content := noise(3, 40_000)
	whole := gzipped(content)
	flip := func(p []byte, i int) []byte {
		p = bytes.Clone(p)
		p[i] ^= 0x40
		return p
	}
	named := gzipped(nil, content)[len(gzipped(nil)):] // has a name, a comment and an extra field
	n := len(whole)
	for _, c := range []struct {
		name     string
		object   []byte
		from, to int64  // where the error may be
		want     []byte // what may come before it
		exact    bool   // all of it
		cause    error
	}{
		{"no gzip at all", []byte("a,b,c\n1,2,3\n"), 0, 12, nil, true, gzip.ErrHeader},
		{"one byte", []byte{0x1f}, 1, 1, nil, true, io.ErrUnexpectedEOF},
		{"a flipped bit in the magic number", flip(whole, 0), 0, 10, nil, true, gzip.ErrHeader},
		{"a flipped bit in the method", flip(whole, 2), 0, 10, nil, true, gzip.ErrHeader},
		{"a flipped bit in the checksum", flip(whole, n-8), int64(n), int64(n), content, false, gzip.ErrChecksum},
		{"a flipped bit in the length", flip(whole, n-4), int64(n), int64(n), content, false, gzip.ErrChecksum},
		{"cut in the header", whole[:5], 5, 5, nil, true, io.ErrUnexpectedEOF},
		{"cut after the header", whole[:10], 10, 10, nil, true, io.ErrUnexpectedEOF},
		{"cut in the extra field", named[:12], 12, 12, nil, true, io.ErrUnexpectedEOF},
		{"cut in the name", named[:20], 20, 20, nil, true, io.ErrUnexpectedEOF},
		{"cut in the middle", whole[:n/2], int64(n / 2), int64(n / 2), content, false, io.ErrUnexpectedEOF},
		{"cut before the trailer", whole[:n-8], int64(n - 8), int64(n - 8), content, false, io.ErrUnexpectedEOF},
		{"cut in the trailer", whole[:n-1], int64(n - 1), int64(n - 1), content, false, io.ErrUnexpectedEOF},
		{"text after the end", append(bytes.Clone(whole), "more, and more of it"...), int64(n), int64(n + 20), content, false, gzip.ErrHeader},
		{"a byte after the end", append(bytes.Clone(whole), 0), int64(n), int64(n + 1), content, false, io.ErrUnexpectedEOF},
		{"a second member cut in its header", append(bytes.Clone(whole), named[:4]...), int64(n + 4), int64(n + 4), content, false, io.ErrUnexpectedEOF},
		{"a second member cut in its extra field", append(bytes.Clone(whole), named[:11]...), int64(n + 11), int64(n + 11), content, false, io.ErrUnexpectedEOF},
		{"a second member cut in its name", append(bytes.Clone(whole), named[:20]...), int64(n + 20), int64(n + 20), content, false, io.ErrUnexpectedEOF},
		{"a second member cut in its comment", append(bytes.Clone(whole), named[:28]...), int64(n + 28), int64(n + 28), content, false, io.ErrUnexpectedEOF},
		{"a second member cut in its data", append(bytes.Clone(whole), named[:99]...), int64(n + 99), int64(n + 99), append(content[:40_000:40_000], content...), false, io.ErrUnexpectedEOF},
	} {
		for name, change := range map[string]func(o *Options){
			"as it is": unzipping,
			"lines":    func(o *Options) { o.Gzip, o.Lines = true, true },
			"records":  func(o *Options) { o.Gzip, o.RecordIO = true, true },
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				client := &ram{objects: map[string][]byte{"good": gzipped([]byte("good\n")), "bad": c.object}}
				stream := openList(t, client, client.list(client.sized, "good", "bad", "good"), small.with(change))
				got, err := io.ReadAll(stream)
				failed := &ObjectError{}
				require.ErrorAs(t, err, &failed)
				require.ErrorIs(t, err, ErrGzip)
				require.ErrorIs(t, err, c.cause)
				require.Equal(t, "data/bad", failed.Bucket+"/"+failed.Key)
				require.True(t, failed.ClientError(), "the data are at fault")
				require.GreaterOrEqual(t, failed.Offset, c.from)
				require.LessOrEqual(t, failed.Offset, c.to)
				if name == "records" { // a record that could not be made whole has no beginning
					require.Equal(t, wrappedOracle(0, []byte("good\n")), got)
					return
				}
				require.True(t, bytes.HasPrefix(got, []byte("good\n")))
				if c.exact {
					require.Equal(t, string(c.want), string(got[5:]))
				} else {
					require.True(t, bytes.HasPrefix(c.want, got[5:]))
					require.Greater(t, len(got[5:]), len(content)/2-5_000, "what came before the damage is delivered")
				}
				_, again := stream.Read(make([]byte, 1))
				require.Equal(t, err, again)
			})
		}
	}
}

// wrappedOracle is what package recordio makes of these records.
func wrappedOracle(limit int, records ...[]byte) []byte {
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	w.MaxPart = limit
	for _, record := range records {
		w.Write(record)
	}
	w.Flush()
	return b.Bytes()
}

// Whatever one byte of a gzip file becomes, or wherever it is cut: it is an
// error, unless the byte was one that says nothing of the content.
func TestP10NoDamageIsASilentEnd(t *testing.T) {
	content := []byte("the quick brown fox jumps over the lazy dog, again and again and again")
	whole := gzipped(content, content, []byte("the end"))
	want := string(content) + string(content) + "the end"
	first := len(gzipped(content))
	second := len(gzipped(content, content))
	client := &ram{objects: map[string][]byte{}}
	read := func(object []byte) (string, error) {
		client.objects["a"] = object
		stream, err := NewSource(client, client.list(client.sized, "a"), small.with(unzipping)).Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		got, err := io.ReadAll(stream)
		return string(got), err
	}
	for cut := 1; cut < len(whole); cut++ {
		got, err := read(whole[:cut])
		if cut == first || cut == second { // is whole
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrGzip, "cut after %d bytes", cut)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut after %d bytes", cut)
		require.True(t, strings.HasPrefix(want, got), "cut after %d bytes", cut)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0xff
		if got, err := read(damaged); err == nil {
			require.Equal(t, want, got, "byte %d", i)
		} else {
			require.ErrorIs(t, err, ErrGzip, "byte %d", i)
		}
	}
}

func TestP10WhatS3DoesWrongIsNotCalledBadGzip(t *testing.T) {
	content := noise(4, 30_000)
	server := startServer(t)
	put(t, server, "part-0", gzipped([]byte("first")))
	put(t, server, "part-1", gzipped(content))
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	for name, fault := range map[string]*s3test.Fault{
		"forbidden": {Status: 403, Code: "AccessDenied"}, "unavailable": {Status: 503, Code: "SlowDown"}, "cut": {At: 500, Cut: true},
	} {
		for way, change := range map[string]func(*Options){
			"as it is": unzipping, "lines": func(o *Options) { o.Gzip, o.Lines = true, true },
			"records": func(o *Options) { o.Gzip, o.RecordIO = true, true },
		} {
			for _, end := range []string{"-8191", "-24575"} { // of the first part, and of the third
				t.Run(name+"/"+way+"/"+end, func(t *testing.T) {
					server.SetFault(func(r *http.Request) *s3test.Fault {
						if isGet(r) && strings.HasSuffix(r.Header.Get("Range"), end) {
							return fault
						}
						return nil
					})
					defer server.SetFault(nil)
					stream := openList(t, server.Client(), objects, small.with(change))
					got, err := io.ReadAll(stream)
					var failed *ObjectError
					require.ErrorAs(t, err, &failed)
					require.Equal(t, "part-1", failed.Key)
					require.NotErrorIs(t, err, ErrGzip)
					require.Equal(t, name == "forbidden", failed.ClientError())
					if way == "as it is" {
						require.True(t, bytes.HasPrefix(append([]byte("first"), content...), got))
					}
				})
			}
		}
	}
}

func TestP10GzipWithLinesAndRecords(t *testing.T) {
	lines, open := text(3_000), bytes.TrimSuffix(text(2_000), []byte("\n"))
	client := &ram{objects: map[string][]byte{
		"a": gzipped(lines), "b": gzipped(open[:7_000], open[7_000:]), "c": gzipped(nil), "d": {}, "e": gzipped([]byte("x")),
	}}
	list := client.list(client.sized, "a", "b", "c", "d", "e")
	for _, base := range []Options{tiny, small, {}} {
		requireEveryWay(t, NewSource(client, list, base.with(func(o *Options) { o.Gzip, o.Lines = true, true })),
			bytes.Join([][]byte{lines, open, []byte("\nx")}, nil))
		requireEveryWay(t, NewSource(client, list, base.with(func(o *Options) { o.Gzip, o.RecordIO = true, true })),
			wrappedOracle(0, lines, open, nil, nil, []byte("x")))
		requireEveryWay(t, NewSource(client, list, base.with(func(o *Options) { o.Gzip, o.RecordIO, o.MaxRecord = true, true, 1_001 })),
			wrappedOracle(1_001, lines, open, nil, nil, []byte("x")))
	}
}

// Records need their length before their bytes, so what is decompressed waits:
// in memory, and in a file above a limit.
func TestP10GzipRecordsAroundTheLimitOfMemory(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	var records [][]byte
	client := &ram{objects: map[string][]byte{}}
	var keys []string
	for i, size := range []int{measuredInMemory - 1, measuredInMemory, 3, measuredInMemory + 1, 0, 3*measuredInMemory + 5, measuredInMemory + 1, 7} {
		records = append(records, bytes.Repeat(noise(i, 1<<10), size>>10+1)[:size])
		keys = append(keys, fmt.Sprint(i))
		client.objects[keys[i]] = gzipped(records[i])
	}
	opts := Options{Gzip: true, RecordIO: true}
	source := NewSource(client, client.list(client.sized, keys...), opts)
	want := wrappedOracle(0, records...)
	before := descriptors(t)
	for _, way := range []string{"read", "write"} {
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		var got bytes.Buffer
		if way == "read" {
			_, err = io.Copy(&got, onlyReader{stream})
		} else {
			_, err = stream.(io.WriterTo).WriteTo(&got)
		}
		require.NoError(t, err)
		requireSame(t, want, got.Bytes())
		requireNoFiles(t, directory)
		require.NoError(t, stream.Close())
		require.Equal(t, before, descriptors(t))
	}
	for at := 0; at < len(want); at += len(want)/20 + 1 { // closed at any moment
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, stream, int64(at))
		require.NoError(t, err)
		requireNoFiles(t, directory)
		require.NoError(t, stream.Close())
		require.NoError(t, stream.Close(), "twice")
		require.Equal(t, before, descriptors(t))
	}
}

func requireNoFiles(t *testing.T, directory string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// descriptors names what files of this process are open, without sockets.
func descriptors(t *testing.T) (open []string) {
	names, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/proc/") {
			open = append(open, to)
		}
	}
	return open
}

func TestP10ADirectoryThatCannotBeWrittenToIsNamed(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	client := &ram{objects: map[string][]byte{"a": gzipped(make([]byte, measuredInMemory)), "b": gzipped(make([]byte, measuredInMemory+1))}}
	stream := openList(t, client, client.list(client.sized, "a", "b"), Options{Gzip: true, RecordIO: true})
	got, err := io.ReadAll(stream)
	requireSame(t, wrappedOracle(0, make([]byte, measuredInMemory)), got)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, os.Getenv("TMPDIR"))
	require.NotErrorIs(t, err, ErrGzip)
}

// What decompresses must stop for Close too, while it spools.
func TestP10CloseEndsAReadThatSpools(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	compressed := gzipped(noise(1, 3<<20))
	spooling := make(chan struct{})
	client := &ram{objects: map[string][]byte{"a": compressed}, meddle: func(ctx context.Context, _ *s3.GetObjectInput, out *s3.GetObjectOutput) error {
		out.Body = whileAlive{ctx, io.MultiReader(bytes.NewReader(compressed[:2<<20]), readerFunc(func([]byte) (int, error) {
			close(spooling)
			<-ctx.Done()
			return 0, ctx.Err()
		}))}
		return nil
	}}
	stream := openList(t, client, client.list(client.sized, "a"), Options{Gzip: true, RecordIO: true, PartSize: 16 << 20})
	failed := make(chan error)
	go func() {
		_, err := io.ReadAll(stream)
		failed <- err
	}()
	<-spooling
	require.NoError(t, stream.Close())
	require.ErrorIs(t, <-failed, os.ErrClosed)
}

func TestP10GzipLeavesTextAlone(t *testing.T) {
	client := &ram{objects: map[string][]byte{"a": gzipped([]byte("rose")), "b": gzipped(nil)}}
	list := items{{Text: []byte("1")}, {Object: &Object{Bucket: "data", Key: "a", Size: unknown}}, {Text: nil},
		{Object: &Object{Bucket: "data", Key: "b", Size: unknown}}, {Text: []byte("2")}}
	requireEveryWay(t, NewSource(client, list, small.with(unzipping)), []byte("1rose2"))
	requireEveryWay(t, NewSource(client, list, small.with(func(o *Options) { o.Gzip, o.RecordIO = true, true })),
		wrappedOracle(0, []byte("1"), []byte("rose"), nil, nil, []byte("2")))
}

// items is a Listing in which each is a unit. One without object and with the
// text "fail" cannot be read.
type items []Item

func (l items) Len() int { return len(l) }

func (l items) AppendUnit(to []Item, i int) ([]Item, error) {
	if l[i].Object == nil && string(l[i].Text) == "fail" {
		return nil, errUnit
	}
	return append(to, l[i]), nil
}

var errUnit = errors.New("this unit cannot be read")
