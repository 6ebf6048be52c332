package filemode

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// lacking returns the GETs that are needed to finish what is in dir.
func lacking(t *testing.T, dir string, files []s3stream.File) []string {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	require.NoError(t, err)
	known := readRecord(bytes.NewReader(text), bootID())
	gets := []string{}
	for i := range files {
		f := &files[i]
		var have []span
		if p := known[newTarget(f).id]; p != nil {
			have = p.spans
		}
		for _, s := range missing(have, f.Object.Size, small.PartSize) {
			switch {
			case s.From == s.To:
			case s.From == 0 && s.To == f.Object.Size:
				gets = append(gets, f.Path+" ")
			default:
				gets = append(gets, fmt.Sprintf("%s bytes=%d-%d", f.Path, s.From, s.To-1))
			}
		}
	}
	slices.Sort(gets)
	return gets
}

// interrupt downloads until request n comes in. With one request at a time all
// before it have been answered.
func interrupt(t *testing.T, server *s3test.Server, dir string, files []s3stream.File, n, atATime int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	faulty(server, func(_ string, i int) *s3test.Fault {
		if i >= n {
			cancel()
		}
		return nil
	})
	defer server.SetFault(nil)
	opts := small
	opts.Concurrency = atATime
	if err := Download(ctx, server.Client(), dir, files, opts); err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func resumable(t *testing.T) {
	if bootID() == "" {
		t.Skip("this system does not say when it was started, so nothing is resumed")
	}
}

func TestAnInterruptedDownloadFetchesWhatIsMissing(t *testing.T) {
	resumable(t)
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	server := startServer(t)
	data := fill(0, 1, 5_000, 10_000, 10_001, 250_000, 3, 99_999, 0, 31_000, 8_000, 20_000)
	data.put(t, server)
	files := layout(t, server)
	for range 10 {
		dir := t.TempDir()
		for range 1 + random.IntN(3) {
			if _, err := os.Stat(filepath.Join(dir, recordFile)); err == nil || dirIsEmpty(t, dir) {
				interrupt(t, server, dir, files, 1+random.IntN(40), 4)
			}
			requireWholeFiles(t, data, dir)
		}
		if _, err := os.Stat(filepath.Join(dir, recordFile)); err != nil {
			continue // it had ended
		}
		want := lacking(t, dir, files)
		seen := &counter{Client: server.Client()}
		require.NoError(t, Download(t.Context(), seen, dir, files, small))
		requireFiles(t, data, dir)
		require.Equal(t, want, seen.sorted())
	}
}

func dirIsEmpty(t *testing.T, dir string) bool {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(entries) == 0
}

func TestAKillAtAnyStepOfFinishingAFileIsMadeGood(t *testing.T) {
	resumable(t)
	server := startServer(t)
	data := dataSet{"a": bytes.Repeat([]byte("a"), 25_000), "b": []byte("b"), "e": nil, "last": []byte("last")}
	data.put(t, server)
	files := layout(t, server)
	start := func() string {
		dir := t.TempDir()
		faulty(server, func(key string, _ int) *s3test.Fault {
			if key == "last" {
				return &s3test.Fault{Status: 404, Code: "NoSuchKey"}
			}
			return nil
		})
		opts := small
		opts.Concurrency = 1 // so that the others are whole
		require.ErrorIs(t, Download(t.Context(), impatient(server), dir, files, opts), s3stream.ErrVanished)
		server.SetFault(nil)
		return dir
	}
	again := func(dir string, want ...string) {
		t.Helper()
		seen := &counter{Client: server.Client()}
		require.NoError(t, Download(t.Context(), seen, dir, files, small))
		requireFiles(t, data, dir)
		require.Equal(t, append(want, "last "), seen.sorted())
	}
	t.Run("after the rename", func(t *testing.T) {
		dir := start()
		again(dir)
	})
	t.Run("before the rename", func(t *testing.T) {
		dir := start()
		for i := range files[:3] {
			f := &files[i]
			require.NoError(t, os.Rename(filepath.Join(dir, f.Path), filepath.Join(dir, newTarget(f).temp())))
		}
		again(dir)
	})
	t.Run("before the record", func(t *testing.T) {
		dir := start()
		text, err := os.ReadFile(filepath.Join(dir, recordFile))
		require.NoError(t, err)
		lines := strings.SplitAfter(string(text), "\n")
		require.Len(t, lines, 1+3+1+1+1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, recordFile), []byte(strings.Join(lines[:2], "")), 0o644))
		for i := range files[:3] {
			f := &files[i]
			require.NoError(t, os.Rename(filepath.Join(dir, f.Path), filepath.Join(dir, newTarget(f).temp())))
		}
		again(dir, "a bytes=10000-19999", "a bytes=20000-24999", "b ")
	})
	t.Run("the file was changed since", func(t *testing.T) {
		dir := start()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), []byte("c"), 0o644))
		again(dir, "b ")
	})
	t.Run("the file is gone", func(t *testing.T) {
		dir := start()
		require.NoError(t, os.Remove(filepath.Join(dir, "b")))
		again(dir, "b ")
	})
}

func TestABadRecordCostsTimeOnly(t *testing.T) {
	resumable(t)
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	server := startServer(t)
	data := fill(100, 65_000, 12_000, 7)
	data.put(t, server)
	files := layout(t, server)
	for name, spoil := range map[string]func(text []byte) []byte{
		"empty":          func([]byte) []byte { return nil },
		"cut off":        func(text []byte) []byte { return text[:random.IntN(len(text))] },
		"a bit flipped":  func(text []byte) []byte { text[random.IntN(len(text))] ^= 1 << random.IntN(8); return text },
		"a digit other":  func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`"to":10000`), []byte(`"to":20000`)) },
		"zeros":          func(text []byte) []byte { clear(text[random.IntN(len(text)):]); return text },
		"garbage before": func(text []byte) []byte { return append([]byte("garbage"), text...) },
		"one long line":  func(text []byte) []byte { return bytes.Repeat([]byte("x"), 200_000) },
		"lines twice":    func(text []byte) []byte { return append(text, text...) },
		"another boot": func(text []byte) []byte {
			_, rest, _ := bytes.Cut(text, []byte("\n"))
			return append(line(header{"another"}), rest...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			interrupt(t, server, dir, files, 6, 4)
			path := filepath.Join(dir, recordFile)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, spoil(text), 0o644))
			seen := &counter{Client: server.Client()}
			require.NoError(t, Download(t.Context(), seen, dir, files, small))
			requireFiles(t, data, dir)
			if name == "another boot" {
				require.Len(t, seen.sorted(), 1+7+2+1, "all is fetched")
			}
		})
	}
}

func TestAChangedObjectIsFetchedWhole(t *testing.T) {
	resumable(t)
	server, dir := startServer(t), t.TempDir()
	data := dataSet{"a": bytes.Repeat([]byte("a"), 5_000), "b": bytes.Repeat([]byte("b"), 95_000), "c": bytes.Repeat([]byte("c"), 95_000)}
	data.put(t, server)
	interrupt(t, server, dir, layout(t, server), 9, 1)
	require.FileExists(t, filepath.Join(dir, "a"))
	data["a"], data["b"] = bytes.Repeat([]byte("A"), 5_000), bytes.Repeat([]byte("B"), 95_000)
	data.put(t, server)
	files := layout(t, server)
	require.NoError(t, Download(t.Context(), server.Client(), dir, files, small))
	requireFiles(t, data, dir)
}

func TestFilesThatAreNoLongerListedGo(t *testing.T) {
	resumable(t)
	server, dir := startServer(t), t.TempDir()
	data := dataSet{"a": []byte("a"), "b/c/d": []byte("d"), "b/e": []byte("e"), "n": []byte("n"), "z": bytes.Repeat([]byte("z"), 95_000)}
	data.put(t, server)
	files := layout(t, server)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), []byte("mine"), 0o644))
	interrupt(t, server, dir, files, 9, 1)
	require.FileExists(t, filepath.Join(dir, "b/c/d"))
	want := dataSet{"a/x": []byte("x"), "b/c": []byte("c"), "b/e": []byte("e"), "mine": []byte("mine")}
	for _, key := range []string{"a", "b/c/d", "n", "z"} {
		_, err := server.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("data"), Key: aws.String("d/" + key)})
		require.NoError(t, err)
	}
	dataSet{"a/x": []byte("x"), "b/c": []byte("c")}.put(t, server)
	require.NoError(t, Download(t.Context(), server.Client(), dir, layout(t, server), small))
	requireFiles(t, want, dir)
}

func TestObjectsWithoutATagAreFetchedAnew(t *testing.T) {
	server, dir := startServer(t), t.TempDir()
	data := fill(100, 55_000)
	data.put(t, server)
	files := layout(t, server)
	for i := range files {
		files[i].Object.ETag = ""
	}
	interrupt(t, server, dir, files, 5, 4)
	seen := &counter{Client: server.Client()}
	require.NoError(t, Download(t.Context(), seen, dir, files, small))
	requireFiles(t, data, dir)
	require.Len(t, seen.sorted(), 1+6)
}

const childURL = "FILEMODE_TEST_CHILD_URL"

// child is the process that is killed.
func child(url string) {
	client := s3.New(s3.Options{
		BaseEndpoint: &url, UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("s3test", "s3test", ""),
	})
	objects, err := s3stream.ListTree(context.Background(), client, "s3://data/d/")
	if err != nil {
		panic(err)
	}
	files, err := s3stream.Layout("s3://data/d/", objects)
	if err != nil {
		panic(err)
	}
	if err := Download(context.Background(), client, os.Getenv("FILEMODE_TEST_CHILD_DIR"), files, small); err != nil {
		panic(err)
	}
}

func TestAKilledProcessesDownloadGoesOn(t *testing.T) {
	resumable(t)
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	server, dir := startServer(t), t.TempDir()
	data := fill(0, 100, 5_000, 400_000, 77_000, 10, 10_000, 123_456)
	data.put(t, server)
	files := layout(t, server)
	for range 3 {
		enough := make(chan struct{})
		after := 5 + random.IntN(15)
		faulty(server, func(_ string, n int) *s3test.Fault {
			if n == after {
				close(enough)
			}
			return &s3test.Fault{Stall: n >= after}
		})
		process := exec.Command(os.Args[0])
		process.Env = append(os.Environ(), childURL+"="+server.URL, "FILEMODE_TEST_CHILD_DIR="+dir)
		require.NoError(t, process.Start())
		<-enough
		require.NoError(t, process.Process.Kill())
		require.ErrorContains(t, process.Wait(), "killed")
		server.SetFault(nil)
		requireWholeFiles(t, data, dir)
	}
	want := lacking(t, dir, files)
	seen := &counter{Client: server.Client()}
	require.NoError(t, Download(t.Context(), seen, dir, files, small))
	requireFiles(t, data, dir)
	require.Equal(t, want, seen.sorted())
}
