package checkpoints

import (
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform/s3test"
)

func TestOnlyWhatChangedIsStored(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/restored", "before")
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	requests := count(server, nil)

	h.look()
	require.Empty(t, requests.take(), "what was restored is there")
	h.write("new", "1")
	h.write("sub/dir/new", "2")
	h.look()
	require.ElementsMatch(t, []string{"PUT new", "PUT sub/dir/new"}, requests.take())
	h.look()
	require.Empty(t, requests.take())
	h.write("new", "3") // of the same size
	h.write("restored", "after")
	h.look()
	require.ElementsMatch(t, []string{"PUT new", "PUT restored"}, requests.take())
	require.NoError(t, os.Rename(h.path("new"), h.path("renamed")))
	h.look()
	require.Equal(t, []string{"PUT renamed", "DELETE new"}, requests.take(), "first stored, then deleted")
	h.final()
	require.Empty(t, requests.take())
	require.Equal(t, map[string]string{"restored": "after", "renamed": "3", "sub/dir/new": "2"}, objects(t, server.Client()))
}

// What replaces a file by rename may have its size and its time.
func TestAnotherFileOfTheSameSizeAndTimeIsStored(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	h.write("latest", "1")
	h.look()
	info, err := os.Stat(h.path("latest"))
	require.NoError(t, err)
	h.write("next.sagemaker-ignore", "2")
	require.NoError(t, os.Chtimes(h.path("next.sagemaker-ignore"), info.ModTime(), info.ModTime()))
	require.NoError(t, os.Rename(h.path("next.sagemaker-ignore"), h.path("latest")))
	h.look()
	require.Equal(t, map[string]string{"latest": "2"}, objects(t, server.Client()))
}

func TestOnlyFilesThatTheDirectoryHeldAreDeleted(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/restored", "x")
	put(t, server, "ckpt/kept", "x")
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	put(t, server, "ckpt/of-another-host", "x")
	put(t, server, "ckpt-sibling", "x")
	h.write("mine", "x")
	h.look()
	h.remove("restored")
	h.remove("mine")
	h.look()
	require.Equal(t, map[string]string{"kept": "x", "of-another-host": "x"}, objects(t, server.Client()))
	h.remove("kept")
	h.final()
	require.Equal(t, map[string]string{"of-another-host": "x"}, objects(t, server.Client()))
}

func TestAFileThatComesAndGoesBetweenLooksIsNoBusinessOfS3(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	requests := count(server, nil)
	h.look()
	h.write("brief", "x")
	h.mirror.scan()
	h.remove("brief")
	h.look()
	h.final()
	require.Empty(t, requests.take())
	require.Empty(t, h.mirror.files)
}

func TestAFileThatIsThereAgainIsNotDeleted(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	h.write("latest", "1")
	h.look()
	h.remove("latest")
	h.mirror.scan()
	h.write("latest", "2") // not by rename
	requests := count(server, nil)
	h.mirror.deleteGone(t.Context(), true)
	h.mirror.workers.Wait()
	require.Empty(t, requests.take())
	h.look()
	require.Equal(t, map[string]string{"latest": "2"}, objects(t, server.Client()))
}

func TestAFileThatWasMovedAwayAndBackIsNotStoredAgain(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/restored", "x")
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	h.write("step", "1")
	h.look()
	requests := count(server, nil)
	for _, name := range []string{"step", "restored"} {
		require.NoError(t, os.Rename(h.path(name), h.path(name+".sagemaker-ignore")))
		h.mirror.scan()
		require.NoError(t, os.Rename(h.path(name+".sagemaker-ignore"), h.path(name)))
	}
	h.look()
	require.Empty(t, requests.take())
}

func TestWhatIsNoFileIsSkippedAndToldOnce(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	h.write("file", "x")
	secret := t.TempDir()
	require.NoError(t, os.WriteFile(secret+"/secret", []byte("secret"), 0o644))
	require.NoError(t, os.Symlink(secret, h.path("dirlink")))
	require.NoError(t, os.Symlink("file", h.path("link")))
	require.NoError(t, syscall.Mkfifo(h.path("fifo"), 0o644))
	require.NoError(t, os.Mkdir(h.path("emptydir"), 0o755))
	h.look()
	h.look()
	h.final()
	require.Equal(t, map[string]string{"file": "x"}, objects(t, server.Client()))
	for _, name := range []string{"dirlink", "link", "fifo"} {
		require.Equal(t, 1, strings.Count(h.log.String(), "file="+name+" "), h.log)
	}
}

func TestAFileThatBecomesSomethingElseIsDeleted(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	h.write("a", "x")
	h.write("b", "x")
	h.look()
	h.remove("a")
	h.write("a/inside", "y")
	h.remove("b")
	require.NoError(t, os.Symlink("a/inside", h.path("b")))
	h.look()
	require.Equal(t, map[string]string{"a/inside": "y"}, objects(t, server.Client()))
}

var oddNames = []string{"-rf", "new\nline", "späße/雪", " ", "a b+c%20&d=?#", "*", `back\slash`, "~", strings.Repeat("n", 255), "\x01\x7f", "quote\"'<&>"}

func TestOddNamesAreStoredAndRestored(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	want := map[string]string{}
	for i, name := range oddNames {
		want[name] = strings.Repeat("x", i)
		h.write(name, want[name])
	}
	h.final()
	require.Equal(t, want, objects(t, server.Client()))
	again := newHost(t, server.Client(), t.TempDir(), Options{})
	require.Equal(t, want, again.files())
	for _, name := range oddNames[:5] {
		again.remove(name)
		delete(want, name)
	}
	again.final()
	require.Equal(t, want, objects(t, server.Client()))
}

func TestNamesThatAreNoKeysAreToldAndStopNothing(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	h.write("old", "x")
	h.look()
	long := strings.Repeat(strings.Repeat("d", 200)+"/", 5) + "long"
	require.Greater(t, len("ckpt/"+long), 1000)
	long = strings.Repeat("e", 30) + "/" + long
	h.write("not \xff UTF-8", "x")
	h.write(long, "x")
	h.write("good", "x")
	h.remove("old")
	h.look()
	h.look()
	require.Equal(t, map[string]string{"good": "x"}, objects(t, server.Client()))
	err := h.mirror.Final(t.Context())
	require.ErrorContains(t, err, `"not \xff UTF-8": no valid S3 key: it is not UTF-8`)
	require.ErrorContains(t, err, "1045 bytes, and 1024 are allowed")
	require.True(t, algospec.IsClientError(err))
	require.Equal(t, 2, strings.Count(h.log.String(), "not stored"), h.log)
	h.remove("not \xff UTF-8")
	h.remove(long)
	h.final()
}

func TestPrivateNamesStayOutOfS3(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	h.write("a.sagemaker-ignore", "half")
	h.write("b.sagemaker-uploading", "")
	h.write("c.sagemaker-uploaded", "")
	h.write("tmp.sagemaker-ignore/part", "half")
	h.write(".algospec-download/part", "half")
	h.write("sub/.algospec-download", "no downloader's here")
	h.final()
	require.Equal(t, map[string]string{"sub/.algospec-download": "no downloader's here"}, objects(t, server.Client()))
	require.NoError(t, os.Rename(h.path("a.sagemaker-ignore"), h.path("a")))
	require.NoError(t, os.Rename(h.path("tmp.sagemaker-ignore"), h.path("step-1")))
	h.final()
	require.Equal(t, []string{"a", "step-1/part", "sub/.algospec-download"}, keys(objects(t, server.Client())))
}

func keys(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestTwoHostsShareAPrefix(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/shared", "before")
	one, two := newHost(t, server.Client(), t.TempDir(), Options{}), newHost(t, server.Client(), t.TempDir(), Options{})
	one.write("algo-1/step", "1")
	two.write("algo-2/step", "2")
	one.look()
	two.look()
	require.Equal(t, map[string]string{"shared": "before", "algo-1/step": "1", "algo-2/step": "2"}, objects(t, server.Client()))
	require.NoFileExists(t, one.path("algo-2/step"), "what comes later is not pulled")
	one.remove("shared") // one host that deletes is enough, and the other does not bring it back
	one.remove("algo-1")
	one.look()
	two.look()
	one.final()
	two.final()
	require.Equal(t, map[string]string{"algo-2/step": "2"}, objects(t, server.Client()))
	require.FileExists(t, two.path("shared"))
}

// Who tears the tree down too early must not lose the checkpoints in S3.
func TestADirectoryThatIsGoneDeletesNothing(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/restored", "x")
	h := newHost(t, server.Client(), t.TempDir()+"/ckpt", Options{})
	h.write("mine", "x")
	h.look()
	require.NoError(t, os.RemoveAll(h.dir))
	h.look()
	require.ErrorContains(t, h.mirror.Final(t.Context()), "no such file or directory")
	require.Equal(t, map[string]string{"restored": "x", "mine": "x"}, objects(t, server.Client()))
	h.write("mine", "y") // the algorithm has made it anew
	h.final()
	require.Equal(t, map[string]string{"mine": "y"}, objects(t, server.Client()))
}

func TestAFileThatFailsStopsNoOther(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{Concurrency: 2})
	count(server, denied("PUT", "bad"))
	for _, name := range []string{"a", "b", "bad", "c", "d"} {
		h.write(name, name)
	}
	h.look()
	require.Equal(t, []string{"a", "b", "c", "d"}, keys(objects(t, server.Client())))
	err := h.mirror.Final(t.Context())
	require.ErrorContains(t, err, `Checkpoint upload failed: s3://data/ckpt/: "bad": bucket "data"`)
	require.ErrorContains(t, err, "AccessDenied")
	require.NotContains(t, err.Error(), `"a"`)
	require.True(t, algospec.IsClientError(err))
	count(server, nil)
	h.final()
	require.Equal(t, "bad", objects(t, server.Client())["bad"])
}

func TestTheLastGoodCheckpointStaysUntilTheNextIsStored(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{Interval: 1})
	h.write("step-1", "1")
	h.look()
	count(server, denied("PUT", "step-2"))
	h.write("step-2", "2")
	h.remove("step-1")
	h.look()
	h.look()
	require.Error(t, h.mirror.Final(t.Context()))
	require.Equal(t, map[string]string{"step-1": "1"}, objects(t, server.Client()))
	count(server, nil)
	h.final()
	require.Equal(t, map[string]string{"step-2": "2"}, objects(t, server.Client()))
}

// A log that is written all the time is always about to be stored.
func TestAFileThatAlwaysChangesDoesNotHoldUpDeletions(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{Interval: 1})
	h.write("step-1", "1")
	h.write("log", "l")
	h.look()
	requests := count(server, denied("PUT", "log"))
	h.remove("step-1")
	for range 3 {
		h.write("log", "l")
		h.look()
	}
	require.Contains(t, requests.take(), "DELETE step-1")
}

func TestFinalTriesAgainWhatMayPass(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{})
	h.write("gone", "x")
	h.look()
	h.remove("gone")
	for _, name := range []string{"a", "b", "c"} {
		h.write(name, name)
	}
	n := map[string]int{}
	count(server, func(method, name string) *s3test.Fault {
		h.mirror.mu.Lock()
		defer h.mirror.mu.Unlock()
		n[name]++
		switch {
		case n[name] > 2:
			return nil
		case name == "b":
			return &s3test.Fault{Cut: true}
		}
		return &s3test.Fault{Status: 503, Code: "SlowDown"}
	})
	h.final()
	require.Equal(t, map[string]string{"a": "a", "b": "b", "c": "c"}, objects(t, server.Client()))
}

func TestAnObjectThatCannotBeDeletedIsTold(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{})
	h.write("old", "x")
	h.look()
	h.remove("old")
	count(server, denied("DELETE", "old"))
	h.look()
	require.ErrorContains(t, h.mirror.Final(t.Context()), `"old": `)
	count(server, nil)
	h.final()
	require.Empty(t, objects(t, server.Client()))
}

func TestAnErrorNamesTheFirstOfManyFiles(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{Logger: slog.New(slog.DiscardHandler)})
	server.SetFault(func(*http.Request) *s3test.Fault { return &s3test.Fault{Status: 403, Code: "AccessDenied"} })
	for _, name := range strings.Split("a b c d e f g h i j", " ") {
		h.write(name, name)
	}
	err := h.mirror.Final(t.Context())
	require.ErrorContains(t, err, `"e": `)
	require.ErrorContains(t, err, "; and 5 more")
	require.NotContains(t, err.Error(), `"f"`)
}
