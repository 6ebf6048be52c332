package filemode

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func TestFilesAreTheObjects(t *testing.T) {
	many := make([]int, 1000)
	for i := range many {
		many[i] = i % 100
	}
	for name, sizes := range map[string][]int{
		"around the bounds of parts": {0, 1, 9_999, 10_000, 10_001, 19_999, 20_000, 20_001, 30_000, 123_456},
		"around the copy buffer":     {bufferSize - 1, bufferSize, bufferSize + 1, 2 * bufferSize},
		"empty files":                {0, 0, 0},
		"a thousand small files":     many,
		"one large file":             {3_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			server, dir := startServer(t), t.TempDir()
			data := fill(sizes...)
			data.put(t, server)
			files := layout(t, server)
			var last int64
			opts := small
			opts.Progress = func(done, total int64) {
				require.LessOrEqual(t, last, done)
				require.Equal(t, data.size(), total)
				last = done
			}
			require.NoError(t, Download(t.Context(), server.Client(), dir, files, opts))
			requireFiles(t, data, dir)
			require.Equal(t, data.size(), last)
			for _, f := range files {
				info, err := os.Stat(filepath.Join(dir, f.Path))
				require.NoError(t, err)
				require.True(t, info.ModTime().Equal(f.Object.LastModified))
			}
		})
	}
}

func TestFoldersBecomeDirectories(t *testing.T) {
	server, dir := startServer(t), filepath.Join(t.TempDir(), "input", "data", "train")
	dataSet{"": nil, "empty/": nil, "full/": nil, "full/deep/x": []byte("x"), "deep/er/": nil}.put(t, server)
	require.NoError(t, Download(t.Context(), server.Client(), dir, layout(t, server), Options{}))
	requireFiles(t, dataSet{"full/deep/x": []byte("x")}, dir)
	for _, name := range []string{"empty", "full", "deep/er"} {
		require.DirExists(t, filepath.Join(dir, name))
	}
}

func TestAHostWithoutFilesGetsAnEmptyDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "train")
	require.NoError(t, Download(t.Context(), nil, dir, nil, Options{}))
	requireFiles(t, nil, dir)
}

func TestFaultsHeal(t *testing.T) {
	data := fill(0, 5, 9_000, 10_000, 95_000, 40_000)
	for name, c := range map[string]struct {
		fault s3test.Fault
		idle  time.Duration
		tries int // more, as a busy machine may be as silent
	}{
		"S3 is in trouble":   {fault: s3test.Fault{Status: 500, Code: "InternalError"}},
		"S3 is busy":         {fault: s3test.Fault{Status: 503, Code: "SlowDown"}},
		"bodies are cut":     {fault: s3test.Fault{At: 3_000, Cut: true}},
		"bodies never begin": {fault: s3test.Fault{Cut: true}},
		"bodies stall":       {fault: s3test.Fault{At: 3_000, Stall: true}, idle: 50 * time.Millisecond, tries: 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			server, dir := startServer(t), t.TempDir()
			data.put(t, server)
			files := layout(t, server)
			faulty(server, func(key string, n int) *s3test.Fault {
				if n%3 == 1 {
					return &c.fault
				}
				return nil
			})
			opts := small
			opts.Stream.Idle = c.idle
			opts.Stream.Tries = max(20, c.tries)
			require.NoError(t, Download(t.Context(), impatient(server), dir, files, opts))
			requireFiles(t, data, dir)
		})
	}
}

func TestAnObjectThatCannotBeReadEndsTheDownload(t *testing.T) {
	data := fill(100, 55_000, 100, 2_000, 30_000)
	for name, c := range map[string]struct {
		key   string
		fault *s3test.Fault
		spoil func(t *testing.T, server *s3test.Server, key string)
		at    int64 // least offset
		want  error
	}{
		"S3 stays in trouble":  {key: "0/3-2000", fault: &s3test.Fault{Status: 500, Code: "InternalError"}},
		"it is forbidden":      {key: "0/3-2000", fault: &s3test.Fault{Status: 403, Code: "AccessDenied"}},
		"a body is always cut": {key: "0/3-2000", fault: &s3test.Fault{At: 0, Cut: true}, want: nil},
		"it was replaced": {key: "0/1-55000", want: s3stream.ErrChanged, spoil: func(t *testing.T, server *s3test.Server, key string) {
			require.NoError(t, server.Put("data", key, strings.NewReader(strings.Repeat("x", 55_000))))
		}},
		"it was deleted": {key: "0/4-30000", want: s3stream.ErrVanished, fault: &s3test.Fault{Status: 404, Code: "NoSuchKey"}},
	} {
		t.Run(name, func(t *testing.T) {
			server, dir := startServer(t), t.TempDir()
			data.put(t, server)
			files := layout(t, server)
			faulty(server, func(key string, n int) *s3test.Fault {
				if key == c.key {
					return c.fault
				}
				return nil
			})
			if c.spoil != nil {
				c.spoil(t, server, "d/"+c.key)
			}
			err := Download(t.Context(), impatient(server), dir, files, small)
			var object *s3stream.ObjectError
			require.ErrorAs(t, err, &object)
			require.Equal(t, "d/"+c.key, object.Key)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			requireWholeFiles(t, data, dir)
			require.NoFileExists(t, filepath.Join(dir, c.key))
		})
	}
}

func TestCancellationReturnsItsCause(t *testing.T) {
	server, dir := startServer(t), t.TempDir()
	data := fill(100, 95_000, 100)
	data.put(t, server)
	files := layout(t, server)
	why := errors.New("the job was stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	faulty(server, func(key string, n int) *s3test.Fault {
		if n == 4 {
			cancel(why)
		}
		return &s3test.Fault{At: 50, Stall: n >= 4}
	})
	require.Equal(t, why, Download(ctx, server.Client(), dir, files, small))
	requireWholeFiles(t, data, dir)
	require.Equal(t, why, Download(ctx, server.Client(), dir, files, small), "before it begins")
}

func TestSymbolicLinksDoNotLeadOut(t *testing.T) {
	server := startServer(t)
	dataSet{"a/b/x": []byte("new"), "y": []byte("new"), "z": []byte("new")}.put(t, server)
	files := layout(t, server)
	plant := func(link string, target func(outside string) string) (dir, outside string) {
		dir, outside = t.TempDir(), t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("old"), 0o644))
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755))
		require.NoError(t, os.Symlink(target(outside), filepath.Join(dir, link)))
		return dir, outside
	}
	untouched := func(outside string) {
		t.Helper()
		requireFiles(t, dataSet{"secret": []byte("old")}, outside)
	}
	for _, link := range []string{"a", "a/b", workshop} {
		dir, outside := plant(link, func(outside string) string { return outside })
		err := Download(t.Context(), server.Client(), dir, files, small)
		var file *FileError
		require.ErrorAs(t, err, &file, link)
		untouched(outside)
		relative := func(outside string) string {
			rel, err := filepath.Rel(filepath.Dir(filepath.Join(dir, link)), outside)
			require.NoError(t, err)
			return rel
		}
		require.NoError(t, os.RemoveAll(filepath.Join(dir, link)))
		require.NoError(t, os.Symlink(relative(outside), filepath.Join(dir, link)))
		require.Error(t, Download(t.Context(), server.Client(), dir, files, small))
		untouched(outside)
	}
	dir, outside := plant("y", func(outside string) string { return filepath.Join(outside, "secret") })
	require.NoError(t, Download(t.Context(), server.Client(), dir, files, small), "a link in a file's place is replaced")
	untouched(outside)
	requireFiles(t, dataSet{"a/b/x": []byte("new"), "y": []byte("new"), "z": []byte("new")}, dir)
}

func TestOtherFilesStay(t *testing.T) {
	server, dir := startServer(t), t.TempDir()
	dataSet{"x": []byte("new")}.put(t, server)
	for _, name := range []string{"x", "other"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644))
	}
	require.NoError(t, Download(t.Context(), server.Client(), dir, layout(t, server), small))
	requireFiles(t, dataSet{"x": []byte("new"), "other": []byte("old")}, dir)
}

func TestWhatCannotBeAFileIsRefused(t *testing.T) {
	object := func(size int64) s3stream.Object { return s3stream.Object{Bucket: "data", Key: "k", Size: size} }
	for name, files := range map[string][]s3stream.File{
		"up and out":            {{Path: "../x", Object: object(1)}},
		"an absolute path":      {{Path: "/x", Object: object(1)}},
		"no name":               {{Path: "", Object: object(1)}},
		"the directory itself":  {{Path: "./", Object: object(0)}},
		"a path twice":          {{Path: "x", Object: object(1)}, {Path: "x", Object: object(1)}},
		"an unknown size":       {{Path: "x", Object: object(-1)}},
		"the downloader's name": {{Path: workshop + "/record", Object: object(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := Download(t.Context(), nil, dir, files, Options{})
			var file *FileError
			require.ErrorAs(t, err, &file)
			requireFiles(t, nil, dir)
		})
	}
}

func TestFilesAndDirectoriesInTheWayAreErrors(t *testing.T) {
	server := startServer(t)
	dataSet{"a/x": []byte("x")}.put(t, server)
	for name, inTheWay := range map[string]func(dir string) error{
		"a file for a directory": func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), nil, 0o644) },
		"a directory for a file": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "a/x/y"), 0o755) },
		"a file for them all":    func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o644)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, inTheWay(dir))
			err := Download(t.Context(), server.Client(), dir, layout(t, server), small)
			var file *FileError
			require.ErrorAs(t, err, &file)
			require.ErrorContains(t, err, dir)
		})
	}
}

func TestOneDownloadAtATime(t *testing.T) {
	server, dir := startServer(t), t.TempDir()
	dataSet{"x": []byte("x")}.put(t, server)
	files := layout(t, server)
	entered, leave := make(chan struct{}), make(chan struct{})
	faulty(server, func(string, int) *s3test.Fault { close(entered); <-leave; return nil })
	first := make(chan error, 1)
	go func() { first <- Download(t.Context(), server.Client(), dir, files, small) }()
	<-entered
	require.ErrorIs(t, Download(t.Context(), server.Client(), dir, files, small), ErrBusy)
	close(leave)
	require.NoError(t, <-first)
	requireFiles(t, dataSet{"x": []byte("x")}, dir)
}

func TestModesDoNotDependOnTheUmask(t *testing.T) {
	defer setUmask(setUmask(0o077))
	server, dir := startServer(t), t.TempDir()
	data := dataSet{"a/b/x": []byte("x"), "y": bytes.Repeat([]byte("y"), 25_000)}
	data.put(t, server)
	require.NoError(t, Download(t.Context(), server.Client(), dir, layout(t, server), small))
	requireFiles(t, data, dir)
}

func TestAnAnswerOfAnotherLengthIsNotBelieved(t *testing.T) {
	server, dir := startServer(t), t.TempDir()
	fill(25_000).put(t, server)
	files := layout(t, server)
	files[0].Object.Size = 24_000
	err := Download(t.Context(), impatient(server), dir, files, small)
	var object *s3stream.ObjectError
	require.ErrorAs(t, err, &object)
	require.NoFileExists(t, filepath.Join(dir, files[0].Path))
}
