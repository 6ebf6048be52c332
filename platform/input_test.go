package platform_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// objects are what channels of these tests hold, by key.
type objects map[string]string

func (o objects) put(t *testing.T, server *s3test.Server, bucket string) {
	t.Helper()
	for key, body := range o {
		require.NoError(t, server.Put(bucket, key, strings.NewReader(body)))
	}
}

// epoch is what a pipe of the objects delivers.
func (o objects) epoch() (all []byte) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		all = append(all, o[key]...)
	}
	return all
}

// odd has what a data set may have: sub-folders, empty objects, folder markers and names that mean
// something elsewhere.
var odd = objects{
	"set/a.txt":             "alpha, without a newline",
	"set/b":                 string(data[:2<<20]),
	"set/empty":             "",
	"set/folder/":           "",
	"set/folder/deep/er/c":  string(data[2<<20:]),
	"set/folder/z":          "omega\n",
	"set/lonely/":           "",
	"set/odd +100% \u00e9/": "",
	"set/odd +100% \u00e9&": "odd",
}

// oddTree is how odd looks as files; the modes are those of File mode.
var oddTree = []string{
	"drwxr-xr-x .",
	"-rw-r--r-- a.txt 24",
	"-rw-r--r-- b 2097152",
	"-rw-r--r-- empty 0",
	"drwxr-xr-x folder",
	"drwxr-xr-x folder/deep",
	"drwxr-xr-x folder/deep/er",
	fmt.Sprintf("-rw-r--r-- folder/deep/er/c %d", len(data)-2<<20),
	"-rw-r--r-- folder/z 6",
	"drwxr-xr-x lonely",
	"drwxr-xr-x odd +100% \u00e9",
	"-rw-r--r-- odd +100% \u00e9& 3",
}

// A mode is a way for a data set to arrive: the channel, for a job whose data are below s3://data/set/
// and, of which odd is a part, in a directory.
type mode struct {
	name  string
	pipe  bool
	setUp func(t *testing.T) platform.Channel // without its name
}

var modes = []mode{
	{"Pipe", true, func(*testing.T) platform.Channel {
		return platform.Channel{S3URI: "s3://data/set/"}
	}},
	{"File", false, func(*testing.T) platform.Channel {
		return platform.Channel{S3URI: "s3://data/set/", InputMode: "File"}
	}},
	{"FastFile", false, func(t *testing.T) platform.Channel {
		testenv.FUSE(t)
		return platform.Channel{S3URI: "s3://data/set/", InputMode: "FastFile"}
	}},
	{"a directory, ro", false, func(t *testing.T) platform.Channel {
		return platform.Channel{Directory: directory(t, odd)}
	}},
	{"a directory, rw", false, func(t *testing.T) platform.Channel {
		return platform.Channel{Directory: directory(t, odd), FileSystemAccessMode: "rw"}
	}},
}

// directory returns one that holds what is below set/.
func directory(t *testing.T, o objects) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	for key, body := range o {
		path := filepath.Join(dir, strings.TrimPrefix(key, "set/"))
		if strings.HasSuffix(key, "/") {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(body), 0o644))
	}
	return dir
}

// newServerOf returns a server with the objects in bucket data.
func newServerOf(t *testing.T, o objects) *s3test.Server {
	t.Helper()
	server := s3test.New()
	t.Cleanup(func() { server.Close() })
	require.NoError(t, server.CreateBucket("models"))
	o.put(t, server, "data")
	return server
}

// newInputJob returns a job that runs a script over one channel, train.
func newInputJob(t *testing.T, server *s3test.Server, c platform.Channel, words string) (platform.Job, *bytes.Buffer) {
	job := scripted(newJob(t, server), words)
	c.Name = "train"
	job.Channels = []platform.Channel{c}
	job.Stream = s3stream.Options{Tries: 2, MaxBackoff: time.Millisecond}
	log := new(bytes.Buffer)
	job.Log = log
	return job, log
}

// leavesNothing checks, when the test's server is closed, that no goroutine, descriptor or mount is
// left. It comes before the server.
func leavesNothing(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	before := descriptors(t)
	dir := filepath.Dir(t.TempDir()) // of all the test's
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, leaks.Find(ignore))
		require.LessOrEqual(t, descriptors(t), before)
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		require.NotContains(t, string(mounts), dir)
	})
}

// failure returns why a job failed.
func failure(t *testing.T, err error) string {
	t.Helper()
	failed, ok := errors.AsType[*platform.FailedError](err)
	require.True(t, ok, "%v", err)
	return failed.Reason
}

func TestAnAlgorithmCannotTellHowItsDataArrive(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				leavesNothing(t)
				c := mode.setUp(t)
				job, log := newInputJob(t, newServerOf(t, odd), c, whole+whole+"train.open train.read=1000000 train.close"+whole)
				_, err := run(t, t.Context(), as(job))
				require.NoError(t, err, log.String())
				all := odd.epoch()
				require.Equal(t, []string{
					came("train", 0, all, atTheEnd), came("train", 1, all, atTheEnd),
					came("train", 2, all[:1_000_000], ""), came("train", 3, all, atTheEnd),
				}, lines(log))
			})
		})
	}
}

// Only File and FastFile mode have files that can be seen, under the same paths.
func TestFilesLookTheSameInEachMode(t *testing.T) {
	for _, mode := range modes {
		if mode.pipe {
			continue
		}
		t.Run(mode.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				c := mode.setUp(t)
				job, log := newInputJob(t, newServerOf(t, odd), c, "siblings train.tree succeed")
				_, err := run(t, t.Context(), as(job))
				require.NoError(t, err, log.String())
				want := slices.Clone(oddTree)
				if c.InputMode == "FastFile" {
					for i := range want {
						want[i] = strings.NewReplacer("drwxr-xr-x", "dr-xr-xr-x", "-rw-r--r--", "-r--r--r--").Replace(want[i])
					}
				}
				require.Equal(t, want, said(log, "tree"))
				kind := "d"
				if c.FileSystemAccessMode == "rw" || c.Directory != "" && os.Geteuid() != 0 {
					kind = "L" // a link, that a tree removed by others does not take the data with it
				}
				siblings := kind + " train" + strings.Repeat("/", strings.Count(kind, "d"))
				if mode.name == "File" {
					siblings += " - train-manifest"
				}
				require.Equal(t, []string{"[" + siblings + "]"}, said(log, "siblings"))
			})
		})
	}
}

func TestTheConfigurationNamesTheMode(t *testing.T) {
	server := newServerOf(t, objects{"set/x": "x", "manifest": `[{"prefix":"s3://data/set/"},"x"]`, "lines": `{"a-ref":"s3://data/set/x"}`})
	for _, c := range []struct {
		name    string
		channel platform.Channel
		want    string
	}{
		{"Pipe", platform.Channel{S3URI: "s3://data/set/"}, `"Pipe","S3DistributionType":"FullyReplicated","RecordWrapperType":"None"`},
		{"File", platform.Channel{S3URI: "s3://data/set/", InputMode: "File"}, `"File","S3DistributionType":"FullyReplicated","RecordWrapperType":"None"`},
		{"sharded", platform.Channel{S3URI: "s3://data/set/", S3DataDistributionType: "ShardedByS3Key"}, `"Pipe","S3DistributionType":"ShardedByS3Key","RecordWrapperType":"None"`},
		{"a directory", platform.Channel{Directory: t.TempDir()}, `"File","S3DistributionType":"FullyReplicated","RecordWrapperType":"None"`},
		{"all else is not told", platform.Channel{
			S3URI: "s3://data/lines", S3DataType: "AugmentedManifestFile", AttributeNames: []string{"a-ref"},
			CompressionType: "Gzip", RecordWrapperType: "RecordIO", ShuffleSeed: new(int64), ContentType: "application/x-thing",
		}, `"Pipe","S3DistributionType":"FullyReplicated","RecordWrapperType":"RecordIO","ContentType":"application/x-thing"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			job, log := newInputJob(t, server, c.channel, "config succeed")
			_, err := run(t, t.Context(), job)
			require.NoError(t, err)
			require.Equal(t, []string{`{"train":{"TrainingInputMode":` + c.want + "}}"}, said(log, "config"))
		})
	}
	t.Run("FastFile", func(t *testing.T) {
		testenv.FUSE(t)
		job, log := newInputJob(t, server, platform.Channel{S3URI: "s3://data/set/", InputMode: "FastFile"}, "config succeed")
		_, err := run(t, t.Context(), job)
		require.NoError(t, err)
		require.Contains(t, said(log, "config")[0], `"TrainingInputMode":"FastFile"`)
	})
}

// What begins with a dot or an underscore is on the disk, as the service has it, and no data.
func TestHiddenFilesAreThereButNoData(t *testing.T) {
	server := newServerOf(t, objects{"set/.amazon.manifest": "[]", "set/_SUCCESS": "yes", "set/x": "data"})
	job, log := newInputJob(t, server, platform.Channel{S3URI: "s3://data/set", InputMode: "File"}, "train.text train.tree succeed")
	_, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, []string{`"data"`}, said(log, "text"))
	require.Equal(t, []string{"drwxr-xr-x .", "-rw-r--r-- .amazon.manifest 2", "-rw-r--r-- _SUCCESS 3", "-rw-r--r-- x 4"}, said(log, "tree"))
}

func TestAManifestByPipeAndByFile(t *testing.T) {
	server := newServerOf(t, objects{
		"my/set/a": "A", "my/set/b": "B", "my/set/sub/c": "C", "my/set/sub/": "", "my/set-more": "M",
		"manifest": `[{"prefix":"s3://data/my/set"},"/b","/a","/sub/","-more","/b","/sub/c"]`,
	})
	c := platform.Channel{S3URI: "s3://data/manifest", S3DataType: "ManifestFile"}
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		job, log := newInputJob(t, server, c, "train.text train.text succeed")
		result, err := run(t, t.Context(), as(job))
		require.NoError(t, err)
		require.Equal(t, []string{`"BAMBC"`, `"BAMBC"`}, said(log, "text"), "in its order and as often as it says")
		require.EqualValues(t, 5, result.Channels[0].EpochBytes)

		c := c
		c.InputMode = "File"
		job, log = newInputJob(t, server, c, "train.tree train.text succeed")
		_, err = run(t, t.Context(), as(job))
		require.NoError(t, err)
		require.Equal(t, []string{
			"drwxr-xr-x .", "drwxr-xr-x my", "drwxr-xr-x my/set", "-rw-r--r-- my/set/a 1", "-rw-r--r-- my/set/b 1",
			"drwxr-xr-x my/set/sub", "-rw-r--r-- my/set/sub/c 1", "-rw-r--r-- my/set-more 1",
		}, said(log, "tree"), "with the whole key")
		require.Equal(t, []string{`"MABC"`}, said(log, "text"))
	})
}

func TestAnAugmentedManifestByPipe(t *testing.T) {
	picture := string(data[:300_000])
	server := newServerOf(t, objects{
		"img/rose": picture, "img/empty": "",
		"lines": `{"source-ref": "s3://data/img/rose", "class": 1.50, "text": "a \"b\"", "other": 1}` + "\n\n" +
			`{"class": {"a": [1, null]}, "text": "", "source-ref": "s3://data/img/empty"}`,
	})
	c := platform.Channel{S3URI: "s3://data/lines", S3DataType: "AugmentedManifestFile", AttributeNames: []string{"class", "source-ref", "text"}}
	all := []string{"1.50", picture, `a "b"`, `{"a":[1,null]}`, "", ""}
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		job, log := newInputJob(t, server, c, "train.text succeed")
		_, err := run(t, t.Context(), as(job))
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf("%q", brief(strings.Join(all, "")))}, said(log, "text"))

		c := c
		c.RecordWrapperType = "RecordIO"
		job, log = newInputJob(t, server, c, "train.records train.records succeed")
		_, err = run(t, t.Context(), as(job))
		require.NoError(t, err)
		want := slices.Clone(all)
		want[1] = brief(picture)
		require.Equal(t, []string{fmt.Sprintf("%q", want), fmt.Sprintf("%q", want)}, said(log, "records"))
	})
}

// zip returns the members of a gzip file.
func zip(members ...string) string {
	var out bytes.Buffer
	for _, text := range members {
		w := gzip.NewWriter(&out)
		w.Write([]byte(text))
		w.Close()
	}
	return out.String()
}

func TestGzipByPipe(t *testing.T) {
	big := string(data)
	server := newServerOf(t, objects{"set/a": zip("a", "and ", "more"), "set/b": "", "set/c": zip(big), "set/d": zip("")})
	c := platform.Channel{S3URI: "s3://data/set/", CompressionType: "Gzip"}
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		job, log := newInputJob(t, server, c, whole+whole)
		_, err := run(t, t.Context(), as(job))
		require.NoError(t, err)
		all := []byte("aand more" + big)
		require.Equal(t, []string{came("train", 0, all, atTheEnd), came("train", 1, all, atTheEnd)}, lines(log))

		c := c
		c.RecordWrapperType = "RecordIO"
		job, log = newInputJob(t, server, c, "train.records succeed")
		_, err = run(t, t.Context(), as(job))
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf("%q", []string{"aand more", "", brief(big), ""})}, said(log, "records"))
	})
}

func TestCorruptGzipFailsTheJobAndIsNoEnd(t *testing.T) {
	good := zip(string(data[:200_000]))
	flipped := []byte(good)
	flipped[len(flipped)/2] ^= 0x10
	for name, bad := range map[string]string{
		"not gzip": "plain text", "cut": good[:len(good)-5], "flipped": string(flipped), "something after it": good + "more",
		"cut in its header": good[:5],
	} {
		t.Run(name, func(t *testing.T) {
			server := newServerOf(t, objects{"set/a": good, "set/b": bad, "set/c": good})
			bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
				job, log := newInputJob(t, server, platform.Channel{S3URI: "s3://data/set/", CompressionType: "Gzip"}, whole)
				result, err := run(t, t.Context(), as(job))
				require.Regexp(t, `^ClientError: channel train, epoch 0: Data download failed: s3://data/set/b at byte \d+: not valid gzip`, failure(t, err))
				require.Empty(t, lines(log), "the reader never saw an end")
				require.Empty(t, result.ModelArtifacts)
			})
		})
	}
}

func TestShuffledEpochs(t *testing.T) {
	set := objects{"manifest": `[{"prefix":"s3://data/set/"},"0","0","1","2","3","4","5","6","7","8","9"]`}
	var lines strings.Builder
	for i := range 10 {
		set[fmt.Sprintf("set/%d", i)] = fmt.Sprint(i)
		fmt.Fprintf(&lines, `{"n":%d}`+"\n", i)
	}
	set["lines"] = lines.String()
	server := newServerOf(t, set)
	for _, c := range []struct {
		channel platform.Channel
		sorted  string
	}{
		{platform.Channel{S3URI: "s3://data/set/"}, "0123456789"},
		{platform.Channel{S3URI: "s3://data/manifest", S3DataType: "ManifestFile"}, "00123456789"},
		{platform.Channel{S3URI: "s3://data/lines", S3DataType: "AugmentedManifestFile", AttributeNames: []string{"n"}}, "0123456789"},
	} {
		t.Run(c.channel.S3DataType, func(t *testing.T) {
			epochs := func(seed *int64, as func(platform.Job) platform.Job) (epochs []string) {
				c.channel.ShuffleSeed = seed
				job, log := newInputJob(t, server, c.channel, "train.text train.text train.text succeed")
				_, err := run(t, t.Context(), as(job))
				require.NoError(t, err)
				for _, text := range said(log, "text") {
					epochs = append(epochs, strings.Trim(text, `"`))
				}
				return epochs
			}
			same := func(job platform.Job) platform.Job { return job }
			seed, other := int64(7), int64(-8)
			got := epochs(&seed, same)
			require.Equal(t, got, epochs(&seed, asCommand), "the order is the seed's")
			distinct := map[string]bool{c.sorted: true}
			for _, epoch := range append(got, epochs(&other, same)...) {
				distinct[epoch] = true
				all := []byte(epoch)
				slices.Sort(all)
				require.Equal(t, c.sorted, string(all))
			}
			require.Len(t, distinct, 7, "the list's order, and each epoch's of both seeds")
			require.Equal(t, []string{c.sorted, c.sorted, c.sorted}, epochs(nil, same))
		})
	}
}

func TestAChannelThatCannotBeIsRefusedBeforeAnythingStarts(t *testing.T) {
	server := newServerOf(t, objects{
		"set/x": "x", "set-2/y": "y", "marker/": "", "clash/a": "", "clash/a/b": "", "up/../x": "", "two//x": "",
		"empty-manifest": `[{"prefix":"s3://data/"}]`, "no-manifest": `["set/x"]`, "bad-manifest": `[{"prefix":"s3://data/"}, "set/x"`,
		"gone-manifest": `[{"prefix":"s3://data/"}, "set/x", "set/gone"]`, "up-manifest": `[{"prefix":"s3://data/"}, "up/../x"]`,
		"lines": `{"a": 1}` + "\n" + `{"b": 1}`,
	})
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	set := func(mode string) platform.Channel { return platform.Channel{S3URI: "s3://data/set/", InputMode: mode} }
	with := func(c platform.Channel, change func(*platform.Channel)) platform.Channel {
		change(&c)
		return c
	}
	manifest := func(key string) platform.Channel {
		return platform.Channel{S3URI: "s3://data/" + key, S3DataType: "ManifestFile"}
	}
	for _, c := range []struct {
		name    string
		channel platform.Channel
		want    string // after the channel's name
	}{
		{"no such mode", set("Pip"), `InputMode "Pip": want one of ["Pipe" "File" "FastFile"]`},
		{"no such type", with(set(""), func(c *platform.Channel) { c.S3DataType = "Converse" }), `S3DataType "Converse": want one of`},
		{"no such distribution", with(set(""), func(c *platform.Channel) { c.S3DataDistributionType = "Half" }), `S3DataDistributionType "Half": want`},
		{"no such compression", with(set(""), func(c *platform.Channel) { c.CompressionType = "Bzip2" }), `CompressionType "Bzip2": want`},
		{"no such wrapper", with(set(""), func(c *platform.Channel) { c.RecordWrapperType = "TFRecord" }), `RecordWrapperType "TFRecord": want`},
		{"no such access", platform.Channel{Directory: t.TempDir(), FileSystemAccessMode: "wo"}, `FileSystemAccessMode "wo": want`},
		{"Gzip by File", with(set("File"), func(c *platform.Channel) { c.CompressionType = "Gzip" }), "CompressionType Gzip: only with InputMode Pipe"},
		{"Gzip by FastFile", with(set("FastFile"), func(c *platform.Channel) { c.CompressionType = "Gzip" }), "CompressionType Gzip: only with InputMode Pipe"},
		{"RecordIO by File", with(set("File"), func(c *platform.Channel) { c.RecordWrapperType = "RecordIO" }), "RecordWrapperType RecordIO: only with InputMode Pipe"},
		{"RecordIO by FastFile", with(set("FastFile"), func(c *platform.Channel) { c.RecordWrapperType = "RecordIO" }), "RecordWrapperType RecordIO: only with InputMode Pipe"},
		{"an augmented manifest by File", platform.Channel{S3URI: "s3://data/lines", InputMode: "File", S3DataType: "AugmentedManifestFile", AttributeNames: []string{"a"}},
			"AugmentedManifestFile: only with InputMode Pipe (the service's documents contradict each other about File)"},
		{"a manifest by FastFile", with(manifest("gone-manifest"), func(c *platform.Channel) { c.InputMode = "FastFile" }), "InputMode FastFile: only with S3DataType S3Prefix"},
		{"attributes of a prefix", with(set(""), func(c *platform.Channel) { c.AttributeNames = []string{"a"} }), "AttributeNames go with"},
		{"an augmented manifest without attributes", platform.Channel{S3URI: "s3://data/lines", S3DataType: "AugmentedManifestFile"}, "AttributeNames go with"},
		{"neither URI nor directory", platform.Channel{}, `"": not of the form s3://bucket/prefix`},
		{"both", platform.Channel{S3URI: "s3://data/set/", Directory: t.TempDir()}, "want one of S3URI and Directory"},
		{"a directory by Pipe", platform.Channel{Directory: t.TempDir(), InputMode: "Pipe"}, "InputMode Pipe: a Directory is read as files"},
		{"a directory by FastFile", platform.Channel{Directory: t.TempDir(), InputMode: "FastFile"}, "InputMode FastFile: a Directory is read as files"},
		{"no such directory", platform.Channel{Directory: "/no/such/directory"}, "stat /no/such/directory: no such file or directory"},
		{"a directory that is a file", platform.Channel{Directory: file}, file + ": not a directory"},

		{"nothing by Pipe", platform.Channel{S3URI: "s3://data/none"}, `No S3 objects found under S3 URL "s3://data/none" given`},
		{"nothing by File", platform.Channel{S3URI: "s3://data/none", InputMode: "File"}, `No S3 objects found under S3 URL "s3://data/none" given`},
		{"nothing by FastFile", platform.Channel{S3URI: "s3://data/none", InputMode: "FastFile"}, `No S3 objects found under S3 URL "s3://data/none" given`},
		{"nothing but a marker", platform.Channel{S3URI: "s3://data/marker/", InputMode: "File"}, `No S3 objects found under S3 URL "s3://data/marker/" given`},
		{"no such bucket", platform.Channel{S3URI: "s3://nowhere/x", InputMode: "File"}, "list s3://nowhere/x: "},
		{"no manifest", manifest("none"), "manifest s3://data/none: no such object"},
		{"a manifest of nothing", manifest("empty-manifest"), "manifest s3://data/empty-manifest: no objects"},
		{"a manifest without prefix", manifest("no-manifest"), "manifest s3://data/no-manifest: "},
		{"a broken manifest", manifest("bad-manifest"), "manifest s3://data/bad-manifest: "},
		{"a manifest's entry is missing", manifest("gone-manifest"), "manifest s3://data/gone-manifest: entry 2: s3://data/set/gone: no such object"},
		{"a manifest's entry is missing, by File", with(manifest("gone-manifest"), func(c *platform.Channel) { c.InputMode = "File" }),
			"manifest s3://data/gone-manifest: entry 2: s3://data/set/gone: no such object"},
		{"a manifest leads out", with(manifest("up-manifest"), func(c *platform.Channel) { c.InputMode = "File" }), `Data download failed: key "up/../x" of s3://data/: its path has the element ".."`},
		{"an attribute is missing", platform.Channel{S3URI: "s3://data/lines", S3DataType: "AugmentedManifestFile", AttributeNames: []string{"a"}},
			"manifest s3://data/lines: line 2: attribute a: "},
		{"a partial prefix", platform.Channel{S3URI: "s3://data/set", InputMode: "FastFile"},
			`For FastFile mode, partial S3 prefix is not supported: "s3://data/set" is also the start of key "set-2/y"`},
		{"file and folder", platform.Channel{S3URI: "s3://data/clash/", InputMode: "File"}, `Data download failed: key "clash/a/b" of s3://data/clash/: its directory "a" is the file of key "clash/a"`},
		{"a key leads out", platform.Channel{S3URI: "s3://data/up/", InputMode: "FastFile"}, `Data download failed: key "up/../x" of s3://data/up/: its path has the element ".."`},
		{"an empty element", platform.Channel{S3URI: "s3://data/two/", InputMode: "File"}, `Data download failed: key "two//x" of s3://data/two/: its path has an empty element`},

		{"a directory is not sharded", platform.Channel{Directory: t.TempDir(), S3DataDistributionType: "ShardedByS3Key"}, "S3DataDistributionType ShardedByS3Key: "},
		{"a directory is no manifest", platform.Channel{Directory: t.TempDir(), S3DataType: "ManifestFile"}, "S3DataType ManifestFile: "},
		{"S3 is not written to", with(set("File"), func(c *platform.Channel) { c.FileSystemAccessMode = "rw" }), "FileSystemAccessMode rw: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			job, _ := newInputJob(t, server, c.channel, "")
			job.Trainer = func(context.Context, *algospec.Job) error {
				t.Error("it started")
				return nil
			}
			result, err := run(t, t.Context(), job)
			require.ErrorContains(t, err, "channel train: "+c.want)
			require.Nil(t, result)
		})
	}
}

// The pipe of an epoch has a name that another channel's directory must not have.
func TestChannelsWhoseNamesMeetInTheTree(t *testing.T) {
	server := newServerOf(t, objects{"set/x": "x"})
	job, _ := newInputJob(t, server, platform.Channel{S3URI: "s3://data/set/"}, "train.text train.text succeed")
	for name, meets := range map[string]bool{"train_0": true, "train_10": true, "train_": false, "train_01": false, "train_x": false, "train-0": false} {
		for _, c := range []platform.Channel{{S3URI: "s3://data/set/", InputMode: "File"}, {Directory: t.TempDir(), FileSystemAccessMode: "rw"}} {
			c.Name = name
			job := job
			job.Channels = append(slices.Clone(job.Channels), c)
			result, err := run(t, t.Context(), job)
			if !meets {
				require.NoError(t, err, name)
				continue
			}
			require.ErrorContains(t, err, "channel "+name+": ")
			require.ErrorContains(t, err, "channel train")
			require.Nil(t, result)
		}
		// A pipe of epoch 0 of train_0 is train_0_0.
		job := job
		job.Channels = append(slices.Clone(job.Channels), platform.Channel{Name: name, S3URI: "s3://data/set/"})
		_, err := run(t, t.Context(), job)
		require.NoError(t, err, name)
	}
}

func TestProgressOfDownloads(t *testing.T) {
	set := objects{"set/a": string(data[:1<<20]), "set/b": "b", "set/none": "", "set/folder/": "", "more": "more"}
	job, _ := newInputJob(t, newServerOf(t, set), platform.Channel{S3URI: "s3://data/set/", InputMode: "File"}, "train.text succeed")
	job.Channels = append(job.Channels,
		platform.Channel{Name: "piped", S3URI: "s3://data/set/"},
		platform.Channel{Name: "more", S3URI: "s3://data/more", InputMode: "File"})
	var reports []platform.Progress
	job.Progress = func(p platform.Progress) { reports = append(reports, p) }
	_, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.NotEmpty(t, reports)
	before := int64(0)
	for _, p := range reports {
		require.EqualValues(t, 1<<20+1+4, p.ToDownload, "of all channels, from the beginning")
		require.GreaterOrEqual(t, p.Downloaded, before)
		before = p.Downloaded
	}
	require.EqualValues(t, 1<<20+1+4, before)
	require.Len(t, reports[len(reports)-1].Channels, 1)
}

// hit returns a fault for the nth GET of an object, from 1, and those after it up to last.
func hit(key string, first, last int64, fault s3test.Fault) func(*http.Request) *s3test.Fault {
	var gets atomic.Int64
	return func(r *http.Request) *s3test.Fault {
		if !isGet(r, key) {
			return nil
		}
		if n := gets.Add(1); n < first || n > last {
			return nil
		}
		return &fault
	}
}

func TestADownloadThatFailsFailsTheJobBeforeItsAlgorithm(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(server *s3test.Server) func(*http.Request) *s3test.Fault
		want  string
	}{
		{"vanished", func(*s3test.Server) func(*http.Request) *s3test.Fault {
			return onGet("train/part-2", s3test.Fault{Status: 404, Code: "NoSuchKey"})
		}, "ClientError: channel train: Data download failed: s3://data/train/part-2 at byte 0: the object is gone since it was listed"},
		{"no longer allowed", func(*s3test.Server) func(*http.Request) *s3test.Fault {
			return onGet("train/part-1", s3test.Fault{Status: 403, Code: "AccessDenied"})
		}, "ClientError: channel train: Data download failed: s3://data/train/part-1 at byte 0: "},
		{"replaced", func(server *s3test.Server) func(*http.Request) *s3test.Fault {
			var once sync.Once
			return func(r *http.Request) *s3test.Fault {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/train/") {
					once.Do(func() { server.Put("data", "train/part-2", strings.NewReader("other")) })
				}
				return nil
			}
		}, "ClientError: channel train: Data download failed: s3://data/train/part-2 at byte 0: the object changed after it was listed"},
		{"broken off for good", func(*s3test.Server) func(*http.Request) *s3test.Fault {
			var gets atomic.Int64
			return func(r *http.Request) *s3test.Fault {
				if !isGet(r, "train/part-1") {
					return nil
				}
				if gets.Add(1) == 1 {
					return &s3test.Fault{At: 70_000, Cut: true}
				}
				return &s3test.Fault{Status: 500, Code: "InternalError"}
			}
		}, "InternalServerError: channel train: Data download failed: s3://data/train/part-1 at byte 70000: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			leavesNothing(t)
			server := newServer(t)
			server.SetFault(c.fault(server))
			job, _ := newInputJob(t, server, platform.Channel{S3URI: "s3://data/train/", InputMode: "File"}, "")
			job.Stream.Concurrency = 1
			job.Trainer = func(context.Context, *algospec.Job) error {
				t.Error("it started")
				return nil
			}
			result, err := run(t, t.Context(), job)
			require.True(t, strings.HasPrefix(failure(t, err), c.want), "%v", err)
			require.NotNil(t, result)
			require.Empty(t, result.ModelArtifacts)
		})
	}
}

// The stop finds a job wherever it is, and what it waits for does not come.
func TestAStopBeforeTheAlgorithmStarts(t *testing.T) {
	server := newServerOf(t, objects{"set/x": "x", "set/y": "y", "manifest": `[{"prefix":"s3://data/set/"},"x","y"]`})
	for _, c := range []struct {
		name    string
		channel platform.Channel
		stall   func(r *http.Request) bool
	}{
		{"while it lists", platform.Channel{S3URI: "s3://data/set/"}, func(r *http.Request) bool { return r.URL.Query().Has("list-type") }},
		{"while it reads a manifest", platform.Channel{S3URI: "s3://data/manifest", S3DataType: "ManifestFile"}, func(r *http.Request) bool { return isGet(r, "manifest") }},
		{"while it asks for a manifest's objects", platform.Channel{S3URI: "s3://data/manifest", S3DataType: "ManifestFile"},
			func(r *http.Request) bool { return r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, "/y") }},
		{"while it downloads", platform.Channel{S3URI: "s3://data/set/", InputMode: "File"}, func(r *http.Request) bool { return isGet(r, "set/y") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			why := errors.New("enough")
			server.SetFault(func(r *http.Request) *s3test.Fault {
				if !c.stall(r) {
					return nil
				}
				cancel(why)
				return &s3test.Fault{Stall: true}
			})
			job, _ := newInputJob(t, server, c.channel, "")
			job.Trainer = func(context.Context, *algospec.Job) error {
				t.Error("it started")
				return nil
			}
			began := time.Now()
			result, err := run(t, ctx, job)
			require.ErrorIs(t, err, platform.ErrStopped)
			require.ErrorIs(t, err, why)
			require.Less(t, time.Since(began), time.Minute)
			require.NotNil(t, result)
			require.Empty(t, result.ModelArtifacts)
		})
	}
}

func TestTheLoggerHearsOfRetriesInEachMode(t *testing.T) {
	for _, mode := range []string{"Pipe", "File", "FastFile"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "FastFile" {
				testenv.FUSE(t)
			}
			server := newServer(t)
			server.SetFault(hit("train/part-1", 1, 1, s3test.Fault{At: 70_000, Cut: true}))
			job, log := newInputJob(t, server, platform.Channel{S3URI: "s3://data/train/", InputMode: mode}, whole)
			var warnings lockedBuffer
			job.Logger = slog.New(slog.NewTextHandler(&warnings, nil))
			_, err := run(t, t.Context(), job)
			require.NoError(t, err)
			require.Equal(t, []string{came("train", 0, data, atTheEnd)}, lines(log))
			require.Equal(t, 1, strings.Count(warnings.String(), "\n"), warnings.String())
			require.Contains(t, warnings.String(), "level=WARN")
			require.Contains(t, warnings.String(), "key=train/part-1 byte=70000")
		})
	}
}

// A lockedBuffer is written to by several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// Each pipe holds its part of ReadAhead and no more, which shows in how much is asked for while
// nothing comes.
func TestPipesShareTheReadAhead(t *testing.T) {
	const pipes, perPipe = 4, 4 // requests, each for a byte
	server := newServerOf(t, nil)
	asked := make([]atomic.Int64, pipes)
	enough := filepath.Join(t.TempDir(), "signal")
	words := ""
	job, _ := newInputJob(t, server, platform.Channel{}, "")
	job.Channels = nil
	for i := range pipes {
		key := fmt.Sprintf("set/%d", i)
		require.NoError(t, server.Put("data", key, strings.NewReader("as many bytes as are needed")))
		job.Channels = append(job.Channels, platform.Channel{Name: fmt.Sprint("train", i), S3URI: "s3://data/" + key})
		words += fmt.Sprintf("train%d.open ", i)
	}
	server.SetFault(func(r *http.Request) *s3test.Fault {
		total := int64(0)
		for i := range asked {
			if isGet(r, fmt.Sprintf("set/%d", i)) {
				asked[i].Add(1)
			}
			total += min(perPipe, asked[i].Load())
		}
		if total == pipes*perPipe {
			os.WriteFile(enough, nil, 0o644)
		}
		if strings.Contains(r.URL.Path, "/set/") && r.Method == http.MethodGet {
			return &s3test.Fault{Stall: true}
		}
		return nil
	})
	job.Stream = s3stream.Options{ReadAhead: pipes * perPipe, PartSize: 1}
	job = scripted(job, words+"signal succeed")
	job.Environment = map[string]string{"SIGNAL": enough}
	_, err := run(t, t.Context(), job)
	require.NoError(t, err)
	for i := range asked {
		require.EqualValues(t, perPipe, asked[i].Load(), "requests for pipe %d", i)
	}
}
