package fastfile_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3stream"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform/fastfile"
)

// A shape is a way to reach the files: both must behave alike.
type shape struct {
	name string
	open func(t *testing.T, w *world, opts fastfile.Options) (*fastfile.FS, fs.FS)
}

var shapes = []shape{
	{"in the process", func(t *testing.T, w *world, opts fastfile.Options) (*fastfile.FS, fs.FS) {
		f := w.open(t, opts)
		return f, f
	}},
	{"mounted", func(t *testing.T, w *world, opts fastfile.Options) (*fastfile.FS, fs.FS) {
		f, dir := w.mount(t, opts)
		return f, os.DirFS(dir)
	}},
}

// each runs a test for each shape.
func each(t *testing.T, w *world, opts fastfile.Options, test func(t *testing.T, f *fastfile.FS, files fs.FS)) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			f, files := shape.open(t, w, opts)
			test(t, f, files)
		})
	}
}

type file interface {
	fs.File
	io.ReaderAt
	io.Seeker
}

func openFile(t *testing.T, files fs.FS, path string) file {
	opened, err := files.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { opened.Close() })
	return opened.(file)
}

// hasSame checks without printing megabytes.
func hasSame(t *testing.T, want, got []byte) {
	t.Helper()
	require.True(t, bytes.Equal(want, got), "%d bytes, want %d, or others", len(got), len(want))
}

func TestFilesHoldTheBytesOfTheirObjects(t *testing.T) {
	w := newWorld(t)
	for path, size := range map[string]int{
		"empty": 0, "one": 1, "block": 64 << 10, "block and a byte": 64<<10 + 1, "dir/sub/big.bin": 5<<20 + 7,
		"dir/ümläut 日本.txt": 100, "dir/a+b%20c&d.csv": 3000,
	} {
		w.put(t, path, size)
	}
	each(t, w, fastfile.Options{}, func(t *testing.T, f *fastfile.FS, files fs.FS) {
		for path, want := range w.bytes {
			got, err := fs.ReadFile(files, path)
			require.NoError(t, err)
			hasSame(t, want, got)
		}
		require.NoError(t, f.Err())
		require.EqualValues(t, len(w.bytes), f.Stats().Opens)
	})
}

// The tree is that of fs.FS: testing/fstest reads all there is in all ways.
func TestBothShapesAreWholeFileSystems(t *testing.T) {
	w := newWorld(t)
	paths := []string{"a", "b/c", "b/d/e/f/g/h/i/j/k", "x y/z", "empty"}
	for i, path := range paths {
		w.put(t, path, i*1000)
	}
	w.put(t, "empty", 0)
	each(t, w, fastfile.Options{}, func(t *testing.T, _ *fastfile.FS, files fs.FS) {
		require.NoError(t, fstest.TestFS(files, paths...))
	})
}

func TestReadsAtAnyOffsetMatch(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 3<<20+123)
	for name, opts := range map[string]fastfile.Options{
		"roomy":                 {},
		"smaller than the data": {Cache: 256 << 10},
		"four small blocks":     {Cache: 4 << 10, Block: 1 << 10},
		"one block":             {Cache: 8 << 10, Block: 8 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, w, opts, func(t *testing.T, f *fastfile.FS, files fs.FS) {
				in, content, seed := openFile(t, files, "f"), w.bytes["f"], rand.Uint64()
				t.Log("seed", seed)
				rng, longest := rand.New(rand.NewPCG(seed, 0)), 300_000
				if opts.Block == 1<<10 {
					longest = 5000 // each block is a request
				}
				for range 30 {
					off := rng.IntN(len(content))
					p := make([]byte, 1+rng.IntN(longest))
					n, err := in.ReadAt(p, int64(off))
					hasSame(t, content[off:min(off+len(p), len(content))], p[:n])
					if off+len(p) <= len(content) {
						require.NoError(t, err)
					} else {
						require.Equal(t, io.EOF, err)
					}
				}
				if opts.Cache > 0 {
					require.LessOrEqual(t, f.Stats().MostCached, opts.Cache)
				}
			})
		})
	}
}

func TestReadsPastTheEndAreEOF(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 100)
	w.put(t, "empty", 0)
	each(t, w, fastfile.Options{}, func(t *testing.T, _ *fastfile.FS, files fs.FS) {
		for path, off := range map[string]int64{"f": 100, "empty": 0} {
			n, err := openFile(t, files, path).ReadAt(make([]byte, 10), off)
			require.Zero(t, n)
			require.Equal(t, io.EOF, err)
		}
		n, err := openFile(t, files, "f").ReadAt(make([]byte, 10), 1<<40)
		require.Zero(t, n)
		require.Equal(t, io.EOF, err)
		in := openFile(t, files, "f")
		at, err := in.Seek(-10, io.SeekEnd)
		require.NoError(t, err)
		require.EqualValues(t, 90, at)
		rest, err := io.ReadAll(in)
		require.NoError(t, err)
		require.Equal(t, w.bytes["f"][90:], rest)
	})
}

func TestManyReadersShareASmallCache(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.put(t, fmt.Sprint("f", i), 1<<20+i)
	}
	opts := fastfile.Options{Cache: 512 << 10}
	each(t, w, opts, func(t *testing.T, f *fastfile.FS, files fs.FS) {
		var readers errgroup.Group
		for i := range 16 {
			path := fmt.Sprint("f", i%4)
			readers.Go(func() error {
				got, err := fs.ReadFile(files, path)
				if err == nil && !bytes.Equal(w.bytes[path], got) {
					err = fmt.Errorf("%s differs", path)
				}
				return err
			})
		}
		require.NoError(t, readers.Wait())
		require.LessOrEqual(t, f.Stats().MostCached, opts.Cache)
		require.Greater(t, f.Stats().MostCached, opts.Cache/2)
	})
}

// Readers of one file at a time: each block is fetched once.
func TestReadersOfTheSameBlockShareOneFetch(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 2<<20)
	f := w.open(t, fastfile.Options{})
	var readers errgroup.Group
	for range 20 {
		readers.Go(func() error {
			_, err := f.ReadFile("f")
			return err
		})
	}
	require.NoError(t, readers.Wait())
	require.EqualValues(t, 2<<20, f.Stats().BytesFetched)
	require.EqualValues(t, 20*2<<20, f.Stats().BytesRead)
}

func TestSmallRandomReadsFetchLittle(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 24<<20)
	each(t, w, fastfile.Options{}, func(t *testing.T, f *fastfile.FS, files fs.FS) {
		in := openFile(t, files, "f")
		rng, page := rand.New(rand.NewPCG(1, 1)), make([]byte, 4<<10)
		const reads = 100
		for range reads {
			_, err := in.ReadAt(page, rng.Int64N(24<<20/4096)*4096)
			require.NoError(t, err)
		}
		require.LessOrEqual(t, f.Stats().BytesFetched, int64(reads*64<<10))
	})
}

func TestSequentialReadsUseFewLargeRequests(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 32<<20)
	each(t, w, fastfile.Options{}, func(t *testing.T, f *fastfile.FS, files fs.FS) {
		in := openFile(t, files, "f")
		n, err := io.Copy(io.Discard, struct{ io.Reader }{in})
		require.NoError(t, err)
		require.EqualValues(t, 32<<20, n)
		stats := f.Stats()
		require.LessOrEqual(t, stats.Requests, int64(40))
		require.EqualValues(t, 32<<20, stats.BytesFetched)
	})
}

func TestASmallFileIsOneRequest(t *testing.T) {
	w := newWorld(t)
	w.put(t, "f", 900<<10)
	each(t, w, fastfile.Options{}, func(t *testing.T, f *fastfile.FS, files fs.FS) {
		_, err := fs.ReadFile(files, "f")
		require.NoError(t, err)
		require.EqualValues(t, 1, f.Stats().Requests)
	})
}

func TestTenThousandFilesAreListed(t *testing.T) {
	w := newWorld(t)
	var files []s3stream.File
	for i := range 10_000 {
		files = append(files, s3stream.File{Path: fmt.Sprintf("part/%05d", i)})
	}
	testenv.FUSE(t)
	dir := t.TempDir()
	f, err := fastfile.Mount(t.Context(), dir, w.Client(), files, fastfile.Options{})
	require.NoError(t, err)
	defer f.Close()
	entries, err := os.ReadDir(filepath.Join(dir, "part"))
	require.NoError(t, err)
	require.Len(t, entries, len(files))
	require.Equal(t, "00000", entries[0].Name())
	require.Equal(t, "09999", entries[9999].Name())
	require.Zero(t, f.Stats().Requests)
}
