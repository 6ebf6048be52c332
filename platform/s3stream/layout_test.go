package s3stream

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// objectsOf makes objects of one bucket: those whose key ends in a slash are
// empty, the others hold a byte.
func objectsOf(keys ...string) (objects Objects) {
	for _, key := range keys {
		o := Object{Bucket: "b", Key: key, Size: 1}
		if strings.HasSuffix(key, "/") {
			o.Size = 0
		}
		objects = append(objects, o)
	}
	return objects
}

func pathsOf(files []File) []string {
	paths := []string{}
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths
}

func TestD1KeyToPathOfAPrefix(t *testing.T) {
	long := strings.Repeat("k", 255)
	for name, c := range map[string]struct {
		uri        string
		keys, want []string
	}{
		"the URI names one object":           {"s3://b/jobs/7/output/model.tar.gz", []string{"jobs/7/output/model.tar.gz"}, []string{"model.tar.gz"}},
		"one object at the top":              {"s3://b/x.csv", []string{"x.csv"}, []string{"x.csv"}},
		"the whole bucket":                   {"s3://b", []string{"a", "d/x"}, []string{"a", "d/x"}},
		"the whole bucket, with a slash":     {"s3://b/", []string{"a", "d/x"}, []string{"a", "d/x"}},
		"a folder with its slash":            {"s3://b/data/train/", []string{"data/train/x", "data/train/y/z"}, []string{"x", "y/z"}},
		"a folder without its slash":         {"s3://b/Task1/input", []string{"Task1/input/test"}, []string{"test"}},
		"a partial name":                     {"s3://b/data/train", []string{"data/train-data.csv"}, []string{"train-data.csv"}},
		"a partial name at the top":          {"s3://b/tr", []string{"train.csv"}, []string{"train.csv"}},
		"a partial name with deeper levels":  {"s3://b/data/tr", []string{"data/train/x.csv"}, []string{"train/x.csv"}},
		"a folder and a partial name":        {"s3://b/data/train", []string{"data/train/x", "data/train-2/y"}, []string{"x", "train-2/y"}},
		"an object and the folder of a name": {"s3://b/data/train", []string{"data/train", "data/train/x"}, []string{"train", "x"}},
		"the channel's own folder":           {"s3://b/data/", []string{"data/", "data/x"}, []string{"x"}},
		"its own folder without a slash":     {"s3://b/data", []string{"data/", "data/x"}, []string{"x"}},
		"folders are directories":            {"s3://b/data/", []string{"data/empty/", "data/full/", "data/full/x"}, []string{"empty/", "full/", "full/x"}},
		"a folder of a partial name":         {"s3://b/data/tr", []string{"data/train/"}, []string{"train/"}},
		"a folder twice":                     {"s3://b/d", []string{"d/d-2/", "d-2/"}, []string{"d-2/"}},
		"odd names are names":                {"s3://b/", []string{"...", ".hidden", "a b", "a\\b", "日本", "-", "c:"}, []string{"...", ".hidden", "a b", "a\\b", "日本", "-", "c:"}},
		"an element of 255 bytes":            {"s3://b/", []string{long + "/" + long}, []string{long + "/" + long}},
		"what comes before is no path":       {"s3://b/a//../b/", []string{"a//../b/x"}, []string{"x"}},
		"the order stays":                    {"s3://b/", []string{"b", "a"}, []string{"b", "a"}},
		"no objects":                         {"s3://b/", nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Layout(c.uri, objectsOf(c.keys...))
			require.NoError(t, err)
			require.Equal(t, c.want, pathsOf(files))
			for _, f := range files {
				require.Equal(t, strings.HasSuffix(f.Object.Key, "/"), f.IsDir())
				require.True(t, strings.HasSuffix(f.Object.Key, f.Path), "each with its object")
			}
		})
	}
}

func TestD1KeyToPathOfAManifest(t *testing.T) {
	for name, c := range map[string]struct {
		prefix         string
		keys           []string
		full, relative []string
	}{
		"the whole key or what follows the prefix": {"s3://b/some/prefix/", []string{"some/prefix/path/part-1"}, []string{"some/prefix/path/part-1"}, []string{"path/part-1"}},
		"a prefix that ends within a name":         {"s3://b/some/part-", []string{"some/part-1"}, []string{"some/part-1"}, []string{"1"}},
		"a prefix before a slash":                  {"s3://b/some", []string{"some/part-1"}, []string{"some/part-1"}, []string{"part-1"}},
		"a bucket":                                 {"s3://b/", []string{"part-1"}, []string{"part-1"}, []string{"part-1"}},
		"an object named twice is one file":        {"s3://b/d/", []string{"d/x", "d/y", "d/x"}, []string{"d/x", "d/y"}, []string{"x", "y"}},
		"folders are directories":                  {"s3://b/d/", []string{"d/", "d/e/"}, []string{"d/", "d/e/"}, []string{"e/"}},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := LayoutManifest(c.prefix, objectsOf(c.keys...), false)
			require.NoError(t, err)
			require.Equal(t, c.full, pathsOf(files))
			files, err = LayoutManifest(c.prefix, objectsOf(c.keys...), true)
			require.NoError(t, err)
			require.Equal(t, c.relative, pathsOf(files))
		})
	}
}

func TestD2ShardCounts(t *testing.T) {
	for _, c := range []struct {
		objects, hosts int
		want           []int // files per host
	}{
		{20, 2, []int{10, 10}}, {2, 2, []int{1, 1}}, {1, 2, []int{1, 0}}, {10, 3, []int{4, 3, 3}}, {0, 2, []int{0, 0}},
	} {
		var keys []string
		for i := range c.objects {
			keys = append(keys, "data/"+string(rune('a'+i)))
		}
		var all []string
		for host, want := range c.want {
			mine := Shard{Index: host, Count: c.hosts}.Objects(objectsOf(keys...))
			files, err := Layout("s3://b/data/", mine)
			require.NoError(t, err)
			require.Len(t, files, want, "%d objects, host %d of %d", c.objects, host, c.hosts)
			for i, f := range files {
				require.Equal(t, "data/"+f.Path, keys[host+i*c.hosts])
			}
			all = append(all, pathsOf(files)...)
		}
		slices.Sort(all)
		require.Len(t, slices.Compact(all), c.objects, "each object at one host")
	}
}

func TestD3FastFilePrefixAmbiguity(t *testing.T) {
	for name, c := range map[string]struct {
		uri     string
		keys    []string
		sibling string // "" where the prefix is allowed
	}{
		"a slash ends it":                {"s3://b/data/train-01/", []string{"data/train-01/x"}, ""},
		"the whole bucket":               {"s3://b", []string{"x", "y/z"}, ""},
		"the exact folder":               {"s3://b/data/train-01", []string{"data/train-01/", "data/train-01/x"}, ""},
		"one exact object":               {"s3://b/data/x.csv", []string{"data/x.csv"}, ""},
		"a folder beside it":             {"s3://b/data/train-01", []string{"data/train-01/x", "data/train-011/x"}, "data/train-011/x"},
		"an empty folder beside it":      {"s3://b/data/train-01", []string{"data/train-01/x", "data/train-011/"}, "data/train-011/"},
		"a file beside it":               {"s3://b/data/train-01", []string{"data/train-01.txt", "data/train-01/x"}, "data/train-01.txt"},
		"an object of the folder's name": {"s3://b/data/train", []string{"data/train", "data/train/x"}, "data/train"},
		"a partial name":                 {"s3://b/data/tr", []string{"data/train/x"}, "data/train/x"},
		"a partial name of one object":   {"s3://b/data/x", []string{"data/x.csv"}, "data/x.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := objectsOf(c.keys...)
			files, err := LayoutFastFile(c.uri, objects)
			if c.sibling == "" {
				require.NoError(t, err)
				want, err := Layout(c.uri, objects)
				require.NoError(t, err)
				require.Equal(t, want, files)
				return
			}
			require.ErrorIs(t, err, ErrPartialPrefix)
			require.True(t, strings.HasPrefix(err.Error(), "For FastFile mode, partial S3 prefix is not supported"), err)
			require.ErrorContains(t, err, c.sibling)
			requireClientError(t, err)
		})
	}
}

func TestD4TraversalKeys(t *testing.T) {
	for name, c := range map[string]struct{ key, problem string }{
		"up and out":              {"d/../../etc/passwd", `the element ".."`},
		"up":                      {"d/..", `the element ".."`},
		"up and down":             {"d/x/../y", `the element ".."`},
		"here":                    {"d/./x", `the element "."`},
		"an absolute path":        {"d//etc/passwd", "empty element"},
		"an empty element":        {"d/a//b", "empty element"},
		"a folder of no name":     {"d/a//", "empty element"},
		"up in a folder":          {"d/../", `the element ".."`},
		"a zero byte":             {"d/a\x00b", "zero byte"},
		"an element of 256 bytes": {"d/" + strings.Repeat("é", 128), "more than 255 bytes"},
		"a path of over 4096":     {"d/" + strings.Repeat("x/", 2048) + "x", "longer than 4096 bytes"},
		"of another prefix":       {"e/x", "does not start as the URI does"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, layOut := range []func() ([]File, error){
				func() ([]File, error) { return Layout("s3://b/d/", objectsOf("d/fine", c.key)) },
				func() ([]File, error) { return LayoutManifest("s3://b/d/", objectsOf("d/fine", c.key), true) },
				func() ([]File, error) { return LayoutFastFile("s3://b/d/", objectsOf("d/fine", c.key)) },
			} {
				_, err := layOut()
				var layout *LayoutError
				require.ErrorAs(t, err, &layout)
				require.Equal(t, c.key, layout.Key)
				require.ErrorContains(t, err, c.problem)
				requireClientError(t, err)
			}
		})
	}
	t.Run("a file whose name ends in a slash", func(t *testing.T) {
		for _, key := range []string{"d/x/", "d/"} {
			_, err := Layout("s3://b/d/", Objects{{Bucket: "b", Key: key, Size: 1}})
			require.ErrorContains(t, err, "empty element")
		}
	})
}

func TestD5NameCollisions(t *testing.T) {
	for name, c := range map[string]struct {
		uri     string
		keys    []string
		problem string
	}{
		"a file, then a directory":            {"s3://b/", []string{"a", "a.b", "a/b"}, `its directory "a" is the file of key "a"`},
		"a directory, then a file":            {"s3://b/", []string{"a/b/c", "a"}, `its path "a" is a directory of key "a/b/c"`},
		"a file and a folder":                 {"s3://b/", []string{"a", "a/"}, `its directory "a" is the file of key "a"`},
		"a folder and a file":                 {"s3://b/", []string{"a/", "a"}, `its path "a" is a directory of key "a/"`},
		"two keys to one path":                {"s3://b/d/t", []string{"d/t-2/y", "d/t/t-2/y"}, `key "d/t-2/y" has the same path, "t-2/y"`},
		"an object and one below it":          {"s3://b/d/t", []string{"d/t", "d/t/t"}, `key "d/t" has the same path, "t"`},
		"a file of one, a directory of other": {"s3://b/d/t", []string{"d/t", "d/t/t/x"}, `its directory "t" is the file of key "d/t"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Layout(c.uri, objectsOf(c.keys...))
			var layout *LayoutError
			require.ErrorAs(t, err, &layout)
			require.Equal(t, c.keys[len(c.keys)-1], layout.Key)
			require.ErrorContains(t, err, c.problem)
			requireClientError(t, err)
		})
	}
}

func TestLayoutRefusesWhatIsNoURI(t *testing.T) {
	for _, uri := range []string{"", "b/x", "s3://", "s3:///x", "http://b/x"} {
		_, err := Layout(uri, nil)
		require.ErrorContains(t, err, "not of the form", uri)
		requireClientError(t, err)
		_, err = LayoutManifest(uri, nil, false)
		require.Error(t, err, uri)
		_, err = LayoutFastFile(uri, nil)
		require.Error(t, err, uri)
	}
}

func TestListTreeKeepsFolders(t *testing.T) {
	server := s3test.New()
	defer server.Close()
	for key, body := range map[string]string{"d/": "", "d/e/": "", "d/x": "x", "only/": ""} {
		require.NoError(t, server.Put("data", key, strings.NewReader(body)))
	}
	keys := func(objects Objects, err error) (keys []string) {
		require.NoError(t, err)
		for _, o := range objects {
			keys = append(keys, o.Key)
		}
		return keys
	}
	require.Equal(t, []string{"d/", "d/e/", "d/x"}, keys(ListTree(t.Context(), server.Client(), "s3://data/d")))
	require.Equal(t, []string{"d/x"}, keys(List(t.Context(), server.Client(), "s3://data/d")))
	_, err := ListTree(t.Context(), server.Client(), "s3://data/only")
	require.ErrorIs(t, err, ErrNoObjects, "folders hold no data")
}

func requireClientError(t *testing.T, err error) {
	t.Helper()
	var client interface{ ClientError() bool }
	require.ErrorAs(t, err, &client)
	require.True(t, client.ClientError())
}

// Whatever the keys are: an error, or files that lie inside the directory and do
// not get into each other's way.
func FuzzLayout(f *testing.F) {
	f.Add("data/train", "data/train/x\ndata/train-2/y\ndata/train-2/")
	f.Add("data/", "data/\ndata/a\ndata/a/b")
	f.Add("", "../x\n/etc/passwd\na//b\nx/./y\na\x00b")
	f.Add("d/t", "d/t\nd/t/t\nd/t/t/x\nd/t-2/y\nd/t/t-2/y")
	f.Add("s", "s/\ns/e/\ns/e/\ns\ns")
	f.Fuzz(func(t *testing.T, prefix, keys string) {
		objects := objectsOf(strings.Split(keys, "\n")...)
		for i, o := range objects {
			if len(o.Key)%7 == 3 { // what the keys alone do not say
				objects[i].Size = 1 - o.Size
			}
		}
		layouts := map[string]func() ([]File, error){
			"prefix":            func() ([]File, error) { return Layout("s3://b/"+prefix, objects) },
			"manifest":          func() ([]File, error) { return LayoutManifest("s3://b/"+prefix, objects, false) },
			"relative manifest": func() ([]File, error) { return LayoutManifest("s3://b/"+prefix, objects, true) },
			"FastFile":          func() ([]File, error) { return LayoutFastFile("s3://b/"+prefix, objects) },
		}
		for name, layOut := range layouts {
			files, err := layOut()
			if err != nil {
				requireClientError(t, err)
				continue
			}
			requireTree(t, name, files)
		}
	})
}

func requireTree(t *testing.T, name string, files []File) {
	taken := map[string]bool{} // whether by a directory
	for _, f := range files {
		p := strings.TrimSuffix(f.Path, "/")
		require.True(t, filepath.IsLocal(p) && p == filepath.Clean(p) && p != ".", "%s: %q", name, f.Path)
		require.Equal(t, f.Object.folder(), f.IsDir(), "%s: %q", name, f.Path)
		_, twice := taken[p]
		require.False(t, twice, "%s: %q twice", name, p)
		taken[p] = f.IsDir()
	}
	for p := range taken {
		for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
			isDir, listed := taken[dir]
			require.True(t, isDir || !listed, "%s: %q is a file and holds %q", name, dir, p)
		}
	}
}
